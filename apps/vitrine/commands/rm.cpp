#include <unistd.h>

#include <fmt/format.h>

#include "tools/hub/files.h"
#include "tools/hub/lock_file.h"
#include "vitrine/commands/commands.h"
#include "vitrine/models.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"
#include "vitrine/progress.h"

namespace vitrine::cli {
namespace {

class RmCommand final : public Command {
 public:
  explicit RmCommand(const Parser& parser) {
    parser.add("model", model_, "A name that `vitrine list` shows").required();
  }

  int run(Context& context) override {
    const Models models;
    const hub::StoredModel model = stored_model(models);
    if (!context.flags.yes) confirm(model, context);
    ProgressBar progress(context.err, context.flags.quiet);
    const auto lock = hub::LockFile::acquire(models.store().lock_path(model.name), progress).value_or_throw();
    models.store().remove(model).value_or_throw();
    if (context.flags.json) {
      print_json(context, {{"removed", model.name}, {"bytes", model.bytes}});
    } else {
      progress.note(fmt::format("{} removed, {} freed", model.name, hub::format_bytes(model.bytes)));
    }
    return 0;
  }

 private:
  hub::StoredModel stored_model(const Models& models) const {
    const tools::ModelLocation location = models.find(model_);
    if (location.stored) return *location.stored;
    throw base::Exception(base::ErrorKind::kUsage,
                          model_ + ": a file of yours, not a model in the store; delete it with your file manager");
  }

  void confirm(const hub::StoredModel& model, const Context& context) const {
    const std::string question = fmt::format("Remove {} ({})?", model.name, hub::format_bytes(model.bytes));
    if (::isatty(STDIN_FILENO) != 1) {
      throw base::Exception(base::ErrorKind::kUsage, model_ + ": not removed, for nobody can be asked; add --yes");
    }
    if (!ask_yes_no(context.err, question)) {
      throw base::Exception(base::ErrorKind::kUsage, model_ + ": kept; answer y or add --yes to remove it");
    }
  }

  std::string model_;
};

}  // namespace

std::unique_ptr<Command> make_rm(const Parser& parser) {
  return std::make_unique<RmCommand>(parser);
}

}  // namespace vitrine::cli
