#include <fmt/format.h>

#include "tools/hub/files.h"
#include "vitrine/commands/commands.h"
#include "vitrine/models.h"
#include "vitrine/output.h"

namespace vitrine::cli {
namespace {

class ListCommand final : public Command {
 public:
  explicit ListCommand(const Parser& /*parser*/) {}

  int run(Context& context) override {
    const Models models;
    const auto stored = models.store().list().value_or_throw();
    if (context.flags.json) {
      nlohmann::ordered_json rows = nlohmann::ordered_json::array();
      for (const hub::StoredModel& model : stored)
        rows.push_back(to_json(model));
      print_json(context, {{"folder", models.store().root().string()}, {"models", rows}});
    } else if (context.flags.quiet) {
      for (const hub::StoredModel& model : stored)
        context.out.print(printable(model.name) + "\n");
    } else if (stored.empty()) {
      context.err.print("no models yet; `vitrine pull` lists what there is\n");
    } else {
      print_models(stored, context);
    }
    return 0;
  }

 private:
  static void print_models(const std::vector<hub::StoredModel>& stored, const Context& context) {
    Table table{{"NAME", "SIZE", "ADDED", "LICENCE", "PATH"}, {1}, {}};
    for (const hub::StoredModel& model : stored) {
      table.rows.push_back({model.name, hub::format_bytes(model.bytes), format_date(model.added_unix_s),
                            model.licence.empty() ? "-" : model.licence, model.path.string()});
    }
    print_table(context.out, table);
  }
};

}  // namespace

std::unique_ptr<Command> make_list(const Parser& parser) {
  return std::make_unique<ListCommand>(parser);
}

}  // namespace vitrine::cli
