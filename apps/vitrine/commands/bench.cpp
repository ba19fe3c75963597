#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/thread_pool.h"
#include "tools/bench/bandwidth.h"
#include "tools/bench/model_bench.h"
#include "tools/bench/op_profile.h"
#include "tools/machine.h"
#include "vitrine/bench_kernels.h"
#include "vitrine/bench_ops.h"
#include "vitrine/bench_serve.h"
#include "vitrine/commands/commands.h"
#include "vitrine/machine_report.h"
#include "vitrine/models.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"
#include "vitrine/runtime.h"

namespace vitrine::cli {
namespace {

using tools::BenchCase;
using tools::BenchPhase;
using tools::median;

constexpr std::size_t kBandwidthRuns = 5;

// `vitrine bench model`: a model alone, like llama-bench and llama-batched-bench.
class BenchModel {
 public:
  explicit BenchModel(const Parser& parser) {
    parser.add("model", model_, "A catalog name, a file or folder, or hf:ORG/REPO[:FILE]").required();
    parser.add("-p,--prompt-tokens", prompt_tokens_, "Prompt lengths to measure; 0 for none")
        .not_negative()
        .with_commas()
        .shows_default();
    parser.add("-n,--generated-tokens", generated_tokens_, "Numbers of generated tokens to measure; 0 for none")
        .not_negative()
        .with_commas()
        .shows_default();
    parser.add("--depth", depths_, "Tokens that every sequence holds before")
        .not_negative()
        .with_commas()
        .shows_default();
    parser.add("--batch", batches_, "Sequences that run together").with_commas().positive().shows_default();
    parser.add("-r,--runs", num_runs_, "Runs of each case, after one that is not counted")
        .between(1, 1000)
        .shows_default();
    parser.add_switch("--ops", wants_ops_, "Also where the time went, operation by operation");
    add_runtime_flags(parser, flags_);
  }

  int run(Context& context) {
    if (flags_.context_length != 0) {
      throw base::Exception(base::ErrorKind::kUsage,
                            "--ctx: a bench takes the context that its cases need; leave it out");
    }
    const std::vector<BenchCase> cases = list_cases();
    if (cases.empty())
      throw base::Exception(base::ErrorKind::kUsage, "-p 0 -n 0: nothing to measure; give one of them");
    flags_.context_length = longest(cases);
    const Models models;
    const std::string path = models.find_or_pull(model_, context).path.string();
    trace::Timeline timeline;
    Runtime runtime(path, flags_, timeline);
    tools::ModelBench bench(runtime.model(), {.kv_type = tensor::find_dtype(flags_.kv_type)->type,
                                              .max_chunk_tokens = flags_.max_chunk_tokens,
                                              .max_batch = *std::ranges::max_element(batches_),
                                              .max_tokens = flags_.context_length});
    base::ThreadPool pool(runtime.backend().num_threads());
    for (const BenchCase& what : cases) {
      measure(bench, pool, what, context);
      if (wants_ops_) results_.back().ops = watch(bench, runtime, pool, what);
    }
    report(runtime, context);
    return 0;
  }

 private:
  struct Result {
    BenchCase what;
    std::vector<double> tokens_per_s;  // a run each
    double roof_share = 0.0;           // of the read bandwidth at this size; 0 for a prompt
    double bandwidth = 0.0;            // bytes per second
    std::optional<OpTable> ops = std::nullopt;
  };

  std::vector<BenchCase> list_cases() const {
    std::vector<BenchCase> cases;
    for (const std::size_t batch : batches_) {
      for (const std::size_t depth : depths_) {
        for (const std::size_t tokens : prompt_tokens_)
          if (tokens > 0) cases.push_back({BenchPhase::kPrefill, tokens, depth, batch});
        for (const std::size_t tokens : generated_tokens_)
          if (tokens > 0) cases.push_back({BenchPhase::kDecode, tokens, depth, batch});
      }
    }
    return cases;
  }

  static std::size_t longest(const std::vector<BenchCase>& cases) {
    std::size_t tokens = 0;
    for (const BenchCase& what : cases)
      tokens = std::max(tokens, what.depth + what.num_tokens);
    return tokens;
  }

  // The bandwidth is measured between the runs, since a shared machine changes from one second to the next.
  void measure(tools::ModelBench& bench, base::ThreadPool& pool, const BenchCase& what, const Context& context) {
    Result result{what, {}, 0.0, 0.0};
    const auto num_tokens = static_cast<double>(what.num_tokens * what.batch);
    const double step_bytes = bench.bytes_per_step(what);
    std::vector<double> shares;
    std::vector<double> bandwidths;
    for (std::size_t run = 0; run <= num_runs_; ++run) {
      const double seconds = bench.run(what);
      if (run == 0) continue;
      result.tokens_per_s.push_back(num_tokens / seconds);
      if (what.phase == BenchPhase::kDecode) {
        bandwidths.push_back(median(tools::read_bandwidth(pool, static_cast<std::size_t>(step_bytes), kBandwidthRuns)));
        shares.push_back(step_bytes * static_cast<double>(what.num_tokens) / seconds / bandwidths.back());
      }
    }
    result.roof_share = median(shares);
    result.bandwidth = median(bandwidths);
    if (!context.flags.quiet && context.err.is_tty()) {
      context.err.print(fmt::format("{} {} tokens at depth {}, {} together: {:.1f} tok/s\n", name_of(what.phase),
                                    what.num_tokens, what.depth, what.batch, median(result.tokens_per_s)));
    }
    results_.push_back(std::move(result));
  }

  // Runs that are watched, between others that are not: their difference is what watching costs.
  OpTable watch(tools::ModelBench& bench, const Runtime& runtime, base::ThreadPool& pool, const BenchCase& what) const {
    const bool is_decode = what.phase == BenchPhase::kDecode;
    tools::OpProfile profile(runtime.model().config().num_layers);
    std::vector<double> plain_s;
    std::vector<double> watched_s;
    std::vector<double> bandwidths;
    for (std::size_t run = 0; run < num_runs_; ++run) {
      plain_s.push_back(bench.run(what));
      watched_s.push_back(bench.run(what, &profile));
      bandwidths.push_back(
          median(tools::read_bandwidth(pool, static_cast<std::size_t>(bench.bytes_per_step(what)), kBandwidthRuns)));
    }
    const std::size_t passes_of_run = is_decode ? what.num_tokens : what.batch;
    return {profile,
            num_runs_ * passes_of_run,
            std::accumulate(watched_s.begin(), watched_s.end(), 0.0),
            median(watched_s) / median(plain_s) - 1.0,
            {median(bandwidths), backends::cpu::measure_peaks(runtime.backend().isa(), pool)}};
  }

  static const char* name_of(BenchPhase phase) { return phase == BenchPhase::kPrefill ? "prefill" : "decode"; }

  void report(const Runtime& runtime, const Context& context) const {
    if (context.flags.json) {
      print_json(context, to_json(runtime));
      return;
    }
    Table table{
        {"PHASE", "TOKENS", "DEPTH", "BATCH", "TOK/S", "FASTEST", "SLOWEST", "OF THE ROOF"}, {1, 2, 3, 4, 5, 6, 7}, {}};
    for (const Result& result : results_) {
      const auto [slowest, fastest] = std::ranges::minmax(result.tokens_per_s);
      table.rows.push_back(
          {name_of(result.what.phase), std::to_string(result.what.num_tokens), std::to_string(result.what.depth),
           std::to_string(result.what.batch), fmt::format("{:.1f}", median(result.tokens_per_s)),
           fmt::format("{:.1f}", fastest), fmt::format("{:.1f}", slowest),
           result.bandwidth > 0
               ? fmt::format("{:.0f} % of {:.1f} GB/s", 100 * result.roof_share, result.bandwidth / 1e9)
               : "-"});
    }
    print_table(context.out, table);
    for (const Result& result : results_) {
      if (!result.ops) continue;
      result.ops->print(fmt::format("{} of {} tokens at depth {}, {} together", name_of(result.what.phase),
                                    result.what.num_tokens, result.what.depth, result.what.batch),
                        context.out);
    }
  }

  nlohmann::ordered_json to_json(const Runtime& runtime) const {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Result& result : results_) {
      const bool is_decode = result.what.phase == BenchPhase::kDecode;
      rows.push_back({{"phase", name_of(result.what.phase)},
                      {"tokens", result.what.num_tokens},
                      {"depth", result.what.depth},
                      {"batch", result.what.batch},
                      {"threads", runtime.backend().num_threads()},
                      {"tokens_per_s", median(result.tokens_per_s)},
                      {"tokens_per_s_runs", result.tokens_per_s},
                      {"roof_share", is_decode ? nlohmann::ordered_json(result.roof_share) : nullptr},
                      {"read_bytes_per_s", is_decode ? nlohmann::ordered_json(result.bandwidth) : nullptr}});
      if (result.ops) rows.back()["ops"] = result.ops->to_json();
    }
    const backends::cpu::CpuBackend& backend = runtime.backend();
    auto machine = machine_json(tools::read_machine(), choose_backend(flags_));
    machine["paths"] = backend.paths().name();
    return {{"machine", machine},
            {"model", {{"path", runtime.bundle().path.string()}, {"weight_bytes", runtime.model().weight_bytes()}}},
            {"kv_type", flags_.kv_type},
            {"results", rows}};
  }

  std::string model_;
  std::vector<std::size_t> prompt_tokens_{512};
  std::vector<std::size_t> generated_tokens_{128};
  std::vector<std::size_t> depths_{0};
  std::vector<std::size_t> batches_{1};
  std::size_t num_runs_ = 5;
  bool wants_ops_ = false;
  RuntimeFlags flags_;
  std::vector<Result> results_;
};

// `vitrine bench machine`: what the CPUs of this process are and how fast they read memory.
class BenchMachine {
 public:
  explicit BenchMachine(const Parser& parser) {
    parser.add("-t,--threads", num_threads_, "Threads (default: every CPU this process may use)").between(1, 1024);
    parser.add("--size", mebibytes_, "MiB that are read").with_commas().positive().shows_default();
  }

  int run(Context& context) {
    const tools::Machine machine = tools::read_machine();
    RuntimeFlags flags;
    flags.num_threads = num_threads_;
    const BackendChoice backend = choose_backend(flags);
    base::ThreadPool pool(backend.num_threads);
    const std::string isa(backends::cpu::isa_name(backend.isa));
    const std::vector<backends::cpu::Peak> peaks = backends::cpu::measure_peaks(backend.isa, pool);
    const std::vector<Read> reads = measure(machine, pool);
    if (context.flags.json) {
      auto answer = machine_json(machine, backend);
      answer["reads"] = nlohmann::ordered_json::array();
      for (const Read& read : reads)
        answer["reads"].push_back(
            {{"bytes", read.size_bytes}, {"one_thread_bytes_per_s", read.one}, {"bytes_per_s", read.all}});
      answer["peaks"] = peaks_json(peaks);
      print_json(context, answer);
      return 0;
    }
    print(machine, isa, context.out);
    print_peaks(context.out, peaks);
    print(reads, pool.num_threads(), context);
    return 0;
  }

 private:
  // Bytes per second with one thread and with all.
  struct Read {
    std::size_t size_bytes;
    double one;
    double all;
  };

  std::vector<Read> measure(const tools::Machine& machine, base::ThreadPool& pool) const {
    base::ThreadPool alone(1);
    std::vector<Read> reads;
    for (const std::size_t mebibytes : mebibytes_) {
      if (mebibytes > machine.available_memory_bytes / 4 >> 20U) continue;
      const std::size_t bytes = mebibytes << 20U;
      reads.push_back({bytes, median(tools::read_bandwidth(alone, bytes, kBandwidthRuns)),
                       median(tools::read_bandwidth(pool, bytes, kBandwidthRuns))});
    }
    return reads;
  }

  static std::string counted(std::size_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  }

  static void print(const tools::Machine& machine, const std::string& isa, const Terminal& out) {
    const tools::Cpus& cpus = machine.cpus;
    out.print(fmt::format("{}, {}, {:.1f} GB of memory\n", printable(machine.cpu), isa,
                          static_cast<double>(machine.total_memory_bytes) / 1e9));
    out.print(fmt::format("{}: {}, {}, {}; a model runs on {} unless told\n\n", counted(cpus.allowed.size(), "CPU"),
                          counted(cpus.cores.size(), "core"), counted(cpus.num_nodes(), "NUMA node"),
                          cpus.quota ? fmt::format("a quota of {:.2f} CPUs", *cpus.quota) : "no quota",
                          counted(cpus.num_threads(), "thread")));
  }

  static void print(const std::vector<Read>& reads, std::size_t num_threads, const Context& context) {
    Table table{{"READING", "1 THREAD", fmt::format("{} THREADS", num_threads)}, {0, 1, 2}, {}};
    for (const Read& read : reads) {
      table.rows.push_back({fmt::format("{} MiB", read.size_bytes >> 20U), fmt::format("{:.1f} GB/s", read.one / 1e9),
                            fmt::format("{:.1f} GB/s", read.all / 1e9)});
    }
    print_table(context.out, table);
  }

  std::size_t num_threads_ = 0;
  std::vector<std::size_t> mebibytes_{1, 8, 32, 96, 256, 1024};
};

class BenchCommand final : public Command {
 public:
  explicit BenchCommand(const Parser& parser)
      : model_parser_(parser.add_command("model", "Prefill and decode speed of a model")),
        machine_parser_(parser.add_command("machine", "What this machine has, how fast it reads and computes")),
        kernels_parser_(parser.add_command("kernels", "Each kernel against what this machine does at most")),
        serve_parser_(parser.add_command("serve", "How an OpenAI-compatible endpoint does under load")),
        model_(model_parser_),
        machine_(machine_parser_),
        kernels_(kernels_parser_),
        serve_(serve_parser_) {}

  int run(Context& context) override {
    if (serve_parser_.was_given()) return serve_.run(context);
    if (kernels_parser_.was_given()) return kernels_.run(context);
    return model_parser_.was_given() ? model_.run(context) : machine_.run(context);
  }

 private:
  Parser model_parser_;
  Parser machine_parser_;
  Parser kernels_parser_;
  Parser serve_parser_;
  BenchModel model_;
  BenchMachine machine_;
  BenchKernels kernels_;
  BenchServe serve_;
};

}  // namespace

std::unique_ptr<Command> make_bench(const Parser& parser) {
  return std::make_unique<BenchCommand>(parser);
}

}  // namespace vitrine::cli
