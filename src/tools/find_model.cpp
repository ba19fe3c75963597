#include "tools/find_model.h"

#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/suggest.h"
#include "tools/hub/model_name.h"
#include "tools/hub/tokenizer_catalog.h"

namespace vitrine::tools {
namespace {

using base::Error;
using base::ErrorKind;
using base::Result;

bool is_known_name(std::string_view model, const std::vector<hub::CatalogEntry>& catalog) {
  return hub::find_entry(catalog, model) != nullptr || hub::parse_hub_spec(model).has_value();
}

std::vector<std::string> tokenizer_names() {
  std::vector<std::string> names;
  for (const hub::TokenizerEntry& entry : hub::builtin_tokenizers())
    names.push_back(entry.full_name());
  return names;
}

// A known tokenizer's name in the store: that of the model whose tokenizer it is, where it has no files of its own.
std::string stored_name(std::string_view name) {
  const hub::TokenizerEntry* entry = hub::find_tokenizer(name);
  return entry != nullptr && !entry->model.empty() ? entry->model : std::string(name);
}

Error missing_tokenizer(std::string_view name) {
  if (hub::find_tokenizer(name) != nullptr) {
    return {ErrorKind::kMissing, fmt::format("{}: not on this machine; vitrine pull {}", name, name)};
  }
  const std::vector<std::string> names = tokenizer_names();
  if (const auto near = base::nearest(name, names)) {
    return {ErrorKind::kMissing, fmt::format("{}: no such tokenizer; did you mean {}?", name, *near)};
  }
  return {ErrorKind::kMissing, fmt::format("{}: no such tokenizer; there are {}", name, fmt::join(names, ", "))};
}

Error missing_model(std::string_view model, const hub::Store& store, const std::vector<hub::CatalogEntry>& catalog) {
  if (is_known_name(model, catalog)) {
    return {ErrorKind::kMissing, fmt::format("{}: not on this machine; vitrine pull {}", model, model)};
  }
  if (model.starts_with("hf:")) {
    return base::usage_error(
        fmt::format("{}: not of the form hf:ORG/REPO[:FILE]; for example hf:Qwen/Qwen3-0.6B-GGUF", model));
  }
  std::vector<std::string> names = hub::catalog_names(catalog);
  if (const auto models = store.list()) {
    for (const hub::StoredModel& stored : *models)
      names.push_back(stored.name);
  }
  if (const auto near = base::nearest(model, names)) {
    return {ErrorKind::kMissing, fmt::format("{}: no such model or file; did you mean {}?", model, *near)};
  }
  return {ErrorKind::kMissing, fmt::format("{}: no such model or file; `vitrine pull` lists what there is", model)};
}

}  // namespace

Result<ModelLocation> find_model(std::string_view model, const hub::Store& store,
                                 const std::vector<hub::CatalogEntry>& catalog) {
  const auto stored = store.find(stored_name(model));
  if (!stored) return stored.error();
  if (stored->has_value()) return ModelLocation{(*stored)->name, (*stored)->path, **stored};
  if (model.starts_with("tok:")) return missing_tokenizer(model);
  const std::filesystem::path path(model);
  std::error_code ignored;
  if (!model.empty() && !is_known_name(model, catalog) && std::filesystem::exists(path, ignored)) {
    return ModelLocation{std::string(model), path, std::nullopt};
  }
  return missing_model(model, store, catalog);
}

bool can_be_pulled(std::string_view model, const hub::Store& store, const std::vector<hub::CatalogEntry>& catalog) {
  const auto stored = store.find(stored_name(model));
  const bool is_known = is_known_name(model, catalog) || hub::find_tokenizer(model) != nullptr;
  return is_known && stored && !stored->has_value();
}

}  // namespace vitrine::tools
