#include <algorithm>

#include <fmt/format.h>

#include "base/thread_pool.h"
#include "tools/cpus.h"
#include "tools/hub/files.h"
#include "tools/synth/synth.h"
#include "vitrine/commands/commands.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"
#include "vitrine/progress.h"

namespace vitrine::cli {
namespace {

using base::ErrorKind;

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const plan::ModelShape& shape : plan::model_shapes()) {
    if (shape.is_computed()) names.emplace_back(shape.name);
  }
  return names;
}

const plan::ModelShape& shape_of(const std::string& name) {
  const plan::ModelShape* shape = plan::find_model_shape(name);
  if (shape != nullptr && shape->is_computed()) return *shape;
  throw base::Exception(ErrorKind::kUsage,
                        fmt::format("--shape {}: not one of {}", name, fmt::join(shape_names(), ", ")));
}

class SynthCommand final : public Command {
 public:
  explicit SynthCommand(const Parser& parser) {
    parser.add("--shape", shape_, fmt::format("Whose sizes: {}", fmt::join(shape_names(), ", "))).required();
    parser.add("--type", type_, "Type of the weights: q4_k_m, q8_0, f16, ...").shows_default();
    parser.add("-o,--out", file_, "The GGUF file to write").required();
    parser.add("--layers", num_layers_, "Only so many layers, to measure a large shape on a small machine").positive();
    parser.add("--seed", seed_, "Another seed gives other weights").shows_default();
    parser.add("-t,--threads", num_threads_, "Threads; 0: all that this process may use").shows_default();
  }

  int run(Context& context) override {
    plan::ModelShape shape = shape_of(shape_);
    if (num_layers_)
      shape.num_layers = static_cast<std::uint32_t>(std::min<std::size_t>(*num_layers_, shape.num_layers));
    const plan::TensorTypes types = plan::TensorTypes::parse(type_).value_or_throw();
    const std::filesystem::path path(file_);
    check_absent(path, context);
    const loader::GgufOutline outline = tools::synth_outline(shape, types);
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    hub::check_space(folder, outline.file_bytes()).value_or_throw();
    {
      ProgressBar progress(context.err, context.flags.quiet);
      tools::write_synth(path, outline, {.seed = seed_, .num_threads = threads()}, progress);
    }
    if (context.flags.json) {
      print_json(context, {{"file", file_}, {"bytes", outline.file_bytes()}});
    } else if (!context.flags.quiet) {
      context.out.print(fmt::format("{}: {} of random weights in the shape of {}\n", printable(file_),
                                    hub::format_bytes(outline.file_bytes()), shape.name));
    }
    return 0;
  }

 private:
  static void check_absent(const std::filesystem::path& path, const Context& context) {
    std::error_code ignored;
    if (context.flags.yes || !std::filesystem::exists(path, ignored)) return;
    throw base::Exception(ErrorKind::kUsage,
                          "--out " + path.string() + ": there is such a file; pass --yes to replace it");
  }

  std::size_t threads() const { return num_threads_ != 0 ? num_threads_ : tools::read_cpus().num_threads(); }

  std::string shape_;
  std::string type_ = "q4_k_m";
  std::string file_;
  std::optional<std::size_t> num_layers_;
  std::size_t seed_ = 0;
  std::size_t num_threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_synth(const Parser& parser) {
  return std::make_unique<SynthCommand>(parser);
}

}  // namespace vitrine::cli
