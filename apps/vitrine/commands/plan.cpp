#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plan/report.h"
#include "tools/bench/kernel_bench.h"
#include "tools/hub/files.h"
#include "vitrine/backend_choice.h"
#include "vitrine/commands/commands.h"
#include "vitrine/machine_report.h"
#include "vitrine/plan_report.h"
#include "vitrine/plan_subject.h"
#include "vitrine/roof.h"

namespace vitrine::cli {
namespace {

using base::ErrorKind;
using plan::PlanReport;
using plan::PlanRow;

constexpr std::size_t kUsualContext = 4096;
constexpr std::size_t kShortestPlotted = 512;
constexpr std::size_t kMostPlots = 6;

tensor::DType parse_kv_type_name(const std::string& name) {
  const tensor::DTypeInfo* info = tensor::find_dtype(name);
  if (info != nullptr) return info->type;
  throw base::Exception(ErrorKind::kUsage, "--kv-type " + name + ": use f16, bf16, f32, q8_0 or q4_0");
}

class PlanCommand final : public Command {
 public:
  explicit PlanCommand(const Parser& parser) {
    parser.add("model", model_, "A catalog name, a file or folder, hf:ORG/REPO[:FILE], or a known shape").required();
    parser.add("-c,--context,--ctx", contexts_, "Context lengths in tokens (default 4096, or the model's own)")
        .with_commas()
        .between(1, 1 << 30);
    parser.add("--batch", batches_, "Sequences at once, each as long")
        .with_commas()
        .between(1, 1 << 20)
        .shows_default();
    parser.add("--kv-type", kv_types_, "Types of the KV cache: f16, bf16, f32, q8_0; others to compare")
        .with_commas()
        .shows_default();
    parser.add("--type", type_, "Type of a shape's weights: q4_k_m, q8_0, f16, ...").shows_default();
    parser.add("-t,--threads", flags_.num_threads, "Threads (default: every CPU this process may use)")
        .between(1, 1024);
    parser.add("--chunk", flags_.max_chunk_tokens, "Most prompt tokens in one step").between(1, 65536).shows_default();
    parser.add_switch("--no-measure", no_measure_, "Leave out the speeds: nothing is measured");
    parser.add("--html", html_file_, "Write a page with plots to this file too");
    parser.add("--svg", svg_file_, "Write the first plot to this file too");
    overrides_.add_flags(parser);
  }

  int run(Context& context) override {
    const BackendChoice backend = choose_backend(flags_);
    const std::unique_ptr<ops::MemoryModel> memory = backend.memory();
    const plan::PlanSubject subject = find_plan_subject(model_, type_, overrides_, *memory, context);
    const tools::Machine machine = tools::read_machine();
    if (contexts_.empty()) contexts_ = {std::min(kUsualContext, subject.network.config.context_length)};
    const plan::PlanQuestion question = this->question(machine, backend.num_threads);
    PlanReport report{subject, plan::plan_rows(subject.network, *memory, question), {}};
    if (!no_measure_) add_speeds(report, *memory, backend);
    if (!svg_file_.empty() || !html_file_.empty()) write_files(report, machine, plots(report, question, *memory));
    if (context.flags.json) {
      print_json(context, plan::to_json(report, machine_json(machine, backend)));
    } else {
      print_plan(report, machine, context.out);
    }
    return 0;
  }

 private:
  void write_files(const PlanReport& report, const tools::Machine& machine, std::vector<plan::MemoryPlot> plots) const {
    if (!svg_file_.empty()) hub::write_text(svg_file_, plan::memory_svg(plots.front())).value_or_throw();
    if (html_file_.empty()) return;
    hub::write_text(html_file_, plan::plan_html(plan_page(report, machine, std::move(plots)))).value_or_throw();
  }

  plan::PlanQuestion question(const tools::Machine& machine, std::size_t num_threads) const {
    plan::PlanQuestion question{.context_lengths = contexts_,
                                .batches = batches_,
                                .kv_types = {},
                                .max_chunk_tokens = flags_.max_chunk_tokens,
                                .num_threads = num_threads,
                                .available_bytes = machine.available_memory_bytes};
    for (const std::string& name : kv_types_)
      question.kv_types.push_back(parse_kv_type_name(name));
    return question;
  }

  // One for each type and batch, the first ones.
  std::vector<plan::MemoryPlot> plots(const PlanReport& report, const plan::PlanQuestion& question,
                                      const ops::MemoryModel& backend) const {
    std::vector<plan::MemoryPlot> plots;
    for (const tensor::DType kv_type : question.kv_types) {
      const plan::RunSizes run{
          .kv_type = kv_type, .max_chunk_tokens = question.max_chunk_tokens, .num_threads = question.num_threads};
      const plan::MemoryForecast sizes =
          plan::MemoryForecast::create(report.subject.network, backend, run).value_or_throw();
      for (const std::size_t batch : batches_) {
        if (plots.size() < kMostPlots) plots.push_back(plot(report, question.available_bytes, sizes, kv_type, batch));
      }
    }
    return plots;
  }

  plan::MemoryPlot plot(const PlanReport& report, std::size_t available_bytes, const plan::MemoryForecast& sizes,
                        tensor::DType kv_type, std::size_t batch) const {
    const plan::Network& network = report.subject.network;
    plan::MemoryPlot plot;
    plot.title =
        fmt::format("{}, KV cache in {}, {} at once", report.subject.name, tensor::dtype_info(kv_type).name, batch);
    plot.available_bytes = available_bytes;
    const std::size_t longest =
        std::max({*std::ranges::max_element(contexts_), network.config.context_length, 2 * kShortestPlotted});
    for (std::size_t length = kShortestPlotted; length <= longest; length *= 2) {
      const auto formula = plan::kv_formula(network, kv_type, length, batch).value_or_throw();
      plot.points.push_back({length, sizes.at(length, batch), formula.copied_bytes});
    }
    return plot;
  }

  void add_speeds(PlanReport& report, const ops::MemoryModel& memory, const BackendChoice& choice) const {
    const plan::Network& network = report.subject.network;
    backends::cpu::CpuBackend backend({.isa = choice.isa, .num_threads = choice.num_threads, .paths = choice.paths});
    const plan::StepReads reads = plan::step_reads(network, memory);
    const double bytes = plan::bytes_of_step(reads, network.config.experts, 0.0, 1);
    plan::MachineRates rates;
    rates.read_bytes_per_s = measure_read_rate(choice.num_threads, bytes);
    const tensor::DType type = plan::usual_type(network);
    rates.prompt_flops_per_s = tools::multiply_rate(backend, type, kRoofPromptRows, ops::Role::kPrompt);
    std::map<std::size_t, double> generated;  // by batch
    for (const std::size_t batch : batches_) {
      const std::size_t num_rows = std::min(batch, kRoofPromptRows);
      if (!generated.contains(num_rows))
        generated[num_rows] = tools::multiply_rate(backend, type, num_rows, ops::Role::kGenerated);
    }
    for (PlanRow& row : report.rows) {
      rates.generated_flops_per_s = generated.at(std::min(row.batch, kRoofPromptRows));
      const double kv_bytes = static_cast<double>(row.memory.kv) / static_cast<double>(row.batch);
      row.speed = plan::forecast_speed(network, memory, rates, kv_bytes, row.context_length, row.batch);
    }
    rates.generated_flops_per_s = generated.at(std::min(batches_.front(), kRoofPromptRows));
    report.rates = rates;
  }

  std::string model_;
  std::vector<std::size_t> contexts_;
  std::vector<std::size_t> batches_{1};
  std::vector<std::string> kv_types_{"f16"};
  std::string type_ = "q4_k_m";
  RuntimeFlags flags_;
  bool no_measure_ = false;
  std::string html_file_;
  std::string svg_file_;
  ShapeOverrides overrides_;
};

}  // namespace

std::unique_ptr<Command> make_plan(const Parser& parser) {
  return std::make_unique<PlanCommand>(parser);
}

}  // namespace vitrine::cli
