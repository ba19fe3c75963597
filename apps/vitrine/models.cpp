#include "vitrine/models.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "tools/hub/files.h"
#include "tools/hub/pull.h"
#include "vitrine/progress.h"

namespace vitrine::cli {
namespace {

struct Terms {
  std::string name;
  std::string licence;
  std::string notice;
};

// On a terminal the terms must be agreed to; elsewhere showing them is all that can be done.
void show_terms(const Terms& terms, const Context& context) {
  if (terms.notice.empty()) return;
  context.err.print(fmt::format("{}: {}\n{}\n", terms.name, terms.licence, terms.notice));
  const bool must_ask = ::isatty(STDIN_FILENO) == 1 && !context.flags.yes;
  if (must_ask && !ask_yes_no(context.err, "Do you agree to these terms?")) {
    throw base::Exception(base::ErrorKind::kUsage, terms.name + ": terms not agreed to; nothing was fetched");
  }
}

hub::PullResult pull_known(hub::Puller& puller, std::string_view model, const std::string& name,
                           const hub::CatalogEntry* entry) {
  if (entry != nullptr) {
    if (name.empty() || name == entry->name) return puller.pull_entry(*entry).value_or_throw();
    throw base::Exception(base::ErrorKind::kUsage, "--name: a model of the catalog has its name; leave --name out");
  }
  if (const auto spec = hub::parse_hub_spec(model)) return puller.pull_hub(*spec, name, "").value_or_throw();
  return puller.pull_path(std::filesystem::path(model), name).value_or_throw();
}

hub::StoredModel say_ready(const hub::PullResult& result, ProgressBar& progress) {
  progress.note(fmt::format("{} {} ({}) at {}", result.model.name, result.was_there ? "is there" : "is ready",
                            hub::format_bytes(result.model.bytes), result.model.path.string()));
  return result.model;
}

}  // namespace

Models::Models() : store_(hub::Store::from_environment().value_or_throw()), catalog_(hub::builtin_catalog()) {}

tools::ModelLocation Models::find(std::string_view model) const {
  return tools::find_model(model, store_, catalog_).value_or_throw();
}

tools::ModelLocation Models::find_or_pull(std::string_view model, const Context& context) const {
  if (tools::can_be_pulled(model, store_, catalog_)) pull(model, "", context);
  return find(model);
}

hub::StoredModel Models::pull(std::string_view model, const std::string& name, const Context& context) const {
  const hub::TokenizerEntry* tokenizer = hub::find_tokenizer(model);
  if (tokenizer != nullptr && tokenizer->model.empty()) return pull_tokenizer(*tokenizer, name, context);
  if (tokenizer != nullptr) return pull(tokenizer->model, name, context);
  const hub::CatalogEntry* entry = hub::find_entry(catalog_, model);
  std::error_code ignored;
  if (entry == nullptr && !hub::parse_hub_spec(model) &&
      !std::filesystem::exists(std::filesystem::path(model), ignored)) {
    find(model);  // throws, and knows the nearest name
  }
  if (!name.empty() && !hub::is_model_name(name)) {
    throw base::Exception(base::ErrorKind::kUsage,
                          "--name: only letters, digits, '.', '_' and '-', the first a letter or a digit");
  }
  const bool is_new = entry != nullptr && tools::can_be_pulled(model, store_, catalog_);
  if (is_new) show_terms({entry->name, entry->licence, entry->notice}, context);
  ProgressBar progress(context.err, context.flags.quiet);
  hub::Puller puller(store_, {hub::Endpoint::from_environment(), {}, {}}, progress);
  return say_ready(pull_known(puller, model, name, entry), progress);
}

hub::StoredModel Models::pull_tokenizer(const hub::TokenizerEntry& entry, const std::string& name,
                                        const Context& context) const {
  if (!name.empty()) {
    throw base::Exception(base::ErrorKind::kUsage, "--name: a tokenizer has its name; leave --name out");
  }
  if (tools::can_be_pulled(entry.full_name(), store_, catalog_)) {
    show_terms({entry.full_name(), entry.licence, entry.notice}, context);
  }
  ProgressBar progress(context.err, context.flags.quiet);
  hub::Puller puller(store_, {hub::Endpoint::from_environment(), {}, {}}, progress);
  return say_ready(puller.pull_tokenizer(entry).value_or_throw(), progress);
}

nlohmann::ordered_json to_json(const hub::StoredModel& model) {
  return {{"name", model.name},
          {"path", model.path.string()},
          {"bytes", model.bytes},
          {"source", model.source},
          {"licence", model.licence},
          {"sha256", model.sha256},
          {"added_unix_s", model.added_unix_s}};
}

}  // namespace vitrine::cli
