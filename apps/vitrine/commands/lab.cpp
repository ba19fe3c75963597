#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/suggest.h"
#include "base/unix_time.h"
#include "base/utc_date.h"
#include "plan/network.h"
#include "tools/hub/files.h"
#include "tools/lab/lab.h"
#include "tools/machine.h"
#include "vitrine/commands/commands.h"
#include "vitrine/interrupt.h"
#include "vitrine/lab_progress.h"
#include "vitrine/machine_report.h"
#include "vitrine/models.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"
#include "vitrine/runtime.h"
#include "vitrine/tokenizer_set.h"

namespace vitrine::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kAllLabs = "all";

// The labs that a name stands for. Throws base::Exception with the nearest right name.
std::vector<const lab::Lab*> choose_labs(const std::string& name) {
  std::vector<const lab::Lab*> chosen;
  std::vector<std::string> names = {std::string(kAllLabs)};
  for (const lab::Lab& item : lab::labs()) {
    names.emplace_back(item.name);
    if (name == kAllLabs || name == item.name) chosen.push_back(&item);
  }
  if (!chosen.empty()) return chosen;
  const auto nearest = base::nearest(name, names);
  throw base::Exception(base::ErrorKind::kUsage, fmt::format("lab {}: there is no such lab; {}", name,
                                                             nearest ? fmt::format("did you mean {}?", *nearest)
                                                                     : fmt::format("use {}", fmt::join(names, ", "))));
}

// Tokenizers on disk, the model's own among them, and the names of those that could be fetched.
struct TokenizerShelf {
  std::vector<lab::NamedTokenizer> on_disk;
  std::vector<std::string> others;
};

TokenizerShelf find_tokenizers(const Models& models, const tools::ModelLocation& model, const Context& context) {
  TokenizerShelf shelf;
  const auto has = [&](const std::string& name) {
    return std::ranges::find(shelf.on_disk, name, &lab::NamedTokenizer::name) != shelf.on_disk.end();
  };
  for (NamedTokenizer& named : open_stored_tokenizers(models, context))
    shelf.on_disk.push_back({named.name, std::move(named.tokenizer)});
  if (!has(model.name)) {
    if (auto own = tools::open_tokenizer(model.path)) shelf.on_disk.push_back({model.name, std::move(*own)});
  }
  for (const hub::TokenizerEntry& entry : hub::builtin_tokenizers())
    if (!has(entry.full_name()) && (entry.model.empty() || !has(entry.model)))
      shelf.others.push_back(entry.full_name());
  return shelf;
}

class LabCommand final : public Command {
 public:
  explicit LabCommand(const Parser& parser) {
    parser.add("lab", name_, "One of the labs, or all; without it they are listed");
    parser.add("model,-m,--model", model_,
               fmt::format("A catalog name, a file or folder, or hf:ORG/REPO[:FILE] (default {})", kDefaultModel));
    parser.add("-o,--out", out_, "Write each report to this folder too: JSON, Markdown, SVG and HTML");
    parser.add("-t,--threads", flags_.num_threads, "Threads (default: every CPU this process may use)")
        .between(1, 1024);
    parser.add_switch("--quick", is_quick_, "The smallest sizes, once: to see a lab work, not to conclude from it");
  }

  int run(Context& context) override {
    if (!name_) return list(context);
    const std::vector<const lab::Lab*> chosen = choose_labs(*name_);
    if (!out_.empty()) hub::make_directories(out_).value_or_throw();
    const Models models;
    const tools::ModelLocation location = models.find_or_pull(model_.value_or(kDefaultModel), context);
    trace::Timeline timeline;
    Runtime runtime(location.path.string(), flags_, timeline);
    const BackendChoice choice = choose_backend(flags_);
    backends::cpu::CpuBackend backend({.isa = choice.isa, .num_threads = choice.num_threads, .paths = choice.paths});
    const auto memory = choice.memory();
    const plan::Network network = plan::network_of(runtime.bundle().files, *memory);
    TokenizerShelf shelf = find_tokenizers(models, location, context);
    const InterruptScope interrupt;
    lab::Workbench bench{.model_name = location.name,
                         .model = runtime.model(),
                         .network = network,
                         .backend = backend,
                         .num_threads = choice.num_threads,
                         .tokenizer = runtime.bundle().tokenizer.get(),
                         .tokenizers = shelf.on_disk,
                         .known_tokenizers = std::move(shelf.others),
                         .is_quick = is_quick_,
                         .stop = &interrupt.requested()};
    const lab::Origin origin{location.name, base::format_day(base::utc_day(base::unix_time_s())),
                             machine_json(tools::read_machine(), choice)};
    return run_labs(chosen, bench, origin, context);
  }

 private:
  static int list(const Context& context) {
    if (context.flags.json) {
      Json rows = Json::array();
      for (const lab::Lab& item : lab::labs())
        rows.push_back({{"name", item.name}, {"about", item.about}});
      print_json(context, {{"labs", std::move(rows)}});
      return 0;
    }
    Table table{{"LAB", "WHAT IT MEASURES"}, {}, {}};
    for (const lab::Lab& item : lab::labs())
      table.rows.push_back({std::string(item.name), std::string(item.about)});
    print_table(context.out, table);
    if (!context.flags.quiet) context.out.print("\nvitrine lab NAME runs one, vitrine lab all every one.\n");
    return 0;
  }

  int run_labs(const std::vector<const lab::Lab*>& chosen, lab::Workbench& bench, const lab::Origin& origin,
               const Context& context) const {
    Json reports = Json::array();
    for (const lab::Lab* item : chosen) {
      const lab::Report report = run_one(*item, bench, context);
      if (!out_.empty()) write(report, origin);
      if (context.flags.json) {
        reports.push_back(lab::to_json(report, origin));
      } else {
        if (item != chosen.front()) context.out.print("\n");
        print(report, context);
      }
    }
    if (!context.flags.json) return 0;
    if (*name_ != kAllLabs) {
      print_json(context, reports.front());
    } else {
      print_json(context, {{"name", kAllLabs}, {"machine", origin.machine}, {"labs", std::move(reports)}});
    }
    return 0;
  }

  static lab::Report run_one(const lab::Lab& item, lab::Workbench& bench, const Context& context) {
    LabProgress progress(context.err, context.flags.quiet, item.name);
    bench.progress = [&progress](double share) { progress.show(share); };
    progress.show(0.0);
    lab::Report report = item.run(bench);
    bench.progress = nullptr;
    return report;
  }

  void print(const lab::Report& report, const Context& context) const {
    context.out.print(context.out.bold(report.title) + "\n\n");
    Table table{lab::header_of(report), {}, lab::cells_of(report)};
    for (std::size_t i = 1; i < table.header.size(); ++i)
      table.right.push_back(i);
    print_table(context.out, table);
    context.out.print("\n");
    for (const std::string& line : lab::lines_of(report))
      context.out.print(printable(line) + "\n");
    for (const std::string& note : report.notes)
      context.out.print(printable(note) + "\n");
    if (!out_.empty()) context.out.print(fmt::format("Written to {}\n", printable(out_)));
  }

  void write(const lab::Report& report, const lab::Origin& origin) const {
    const std::filesystem::path folder(out_);
    const auto put = [&](const std::string& name, const std::string& text) {
      hub::write_text(folder / name, text).value_or_throw();
    };
    put(report.name + ".json", lab::to_json(report, origin).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    put(report.name + ".md", lab::to_markdown(report, origin));
    put(report.name + ".html", lab::to_html(report, origin));
    for (std::size_t i = 0; i < report.plots.size(); ++i)
      put(lab::plot_file_name(report.name, i), report.plots[i]);
  }

  std::optional<std::string> name_;
  std::optional<std::string> model_;
  std::string out_;
  RuntimeFlags flags_;
  bool is_quick_ = false;
};

}  // namespace

std::unique_ptr<Command> make_lab(const Parser& parser) {
  return std::make_unique<LabCommand>(parser);
}

}  // namespace vitrine::cli
