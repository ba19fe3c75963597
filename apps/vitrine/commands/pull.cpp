#include <fmt/format.h>

#include "tools/hub/files.h"
#include "tools/machine.h"
#include "vitrine/commands/commands.h"
#include "vitrine/models.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"

namespace vitrine::cli {
namespace {

std::string fit_word(const hub::CatalogEntry& entry, const tools::Machine& machine, bool is_here) {
  if (is_here) return "here";
  return tools::probably_fits(machine, entry.bytes) ? "yes" : "no";
}

std::string format_count(std::uint64_t count) {
  const auto value = static_cast<double>(count);
  return value < 1e9 ? fmt::format("{:.0f}M", value / 1e6) : fmt::format("{:.1f}B", value / 1e9);
}

class PullCommand final : public Command {
 public:
  explicit PullCommand(const Parser& parser) {
    parser.add("model", model_,
               "A catalog name, hf:ORG/REPO[:FILE], tok:NAME (a tokenizer alone), a file or a folder; without it "
               "the catalog is listed");
    parser.add("--name", name_, "Store it under this name");
  }

  int run(Context& context) override {
    const Models models;
    if (model_.empty()) {
      list_catalog(models, context);
      return 0;
    }
    if (model_ == "tok:") {
      list_tokenizers(models, context);
      return 0;
    }
    const hub::StoredModel model = models.pull(model_, name_, context);
    if (context.flags.json) print_json(context, to_json(model));
    return 0;
  }

 private:
  static void list_catalog(const Models& models, const Context& context) {
    const tools::Machine machine = tools::read_machine();
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    Table table{{"NAME", "SIZE", "PARAMETERS", "CONTEXT", "FITS", "GOOD FOR"}, {1, 2, 3}, {}};
    for (const hub::CatalogEntry& entry : models.catalog()) {
      const auto stored = models.store().find(entry.name);
      const bool is_here = stored && stored->has_value();
      if (context.flags.quiet && !context.flags.json) context.out.print(entry.name + "\n");
      rows.push_back({{"name", entry.name},
                      {"bytes", entry.bytes},
                      {"parameters", entry.num_parameters},
                      {"context_length", entry.context_length},
                      {"licence", entry.licence},
                      {"about", entry.about},
                      {"fits", tools::probably_fits(machine, entry.bytes)},
                      {"here", is_here}});
      table.rows.push_back({entry.name, hub::format_bytes(entry.bytes), format_count(entry.num_parameters),
                            std::to_string(entry.context_length), fit_word(entry, machine, is_here), entry.about});
    }
    if (context.flags.json) {
      print_json(context, {{"memory_available_bytes", machine.available_memory_bytes}, {"models", rows}});
    } else if (!context.flags.quiet) {
      print_table(context.out, table);
      context.out.print(
          fmt::format("\n{} of memory are free for this program. Fetch one with: vitrine pull NAME\n"
                      "Tokenizers alone, for count, compare and cost, are listed by: vitrine pull tok:\n",
                      hub::format_bytes(machine.available_memory_bytes)));
    }
  }

  static void list_tokenizers(const Models& models, const Context& context) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    Table table{{"NAME", "SIZE", "HERE", "OF"}, {1}, {}};
    for (const hub::TokenizerEntry& entry : hub::builtin_tokenizers()) {
      const std::string name = entry.full_name();
      const bool is_here = !tools::can_be_pulled(name, models.store(), models.catalog());
      if (context.flags.quiet && !context.flags.json) context.out.print(name + "\n");
      rows.push_back({{"name", name},
                      {"bytes", entry.bytes()},
                      {"licence", entry.licence},
                      {"about", entry.about},
                      {"here", is_here}});
      const std::string size = entry.model.empty() ? hub::format_bytes(entry.bytes()) : "(a model)";
      table.rows.push_back({name, size, is_here ? "here" : "", entry.about});
    }
    if (context.flags.json) {
      print_json(context, {{"tokenizers", rows}});
    } else if (!context.flags.quiet) {
      print_table(context.out, table);
      context.out.print("\nFetch one with: vitrine pull tok:NAME\n");
    }
  }

  std::string model_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Command> make_pull(const Parser& parser) {
  return std::make_unique<PullCommand>(parser);
}

}  // namespace vitrine::cli
