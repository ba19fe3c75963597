#include "vitrine/bench_kernels.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "backends/cpu/cpu_backend.h"
#include "base/thread_pool.h"
#include "tools/bench/bandwidth.h"
#include "tools/machine.h"
#include "vitrine/backend_choice.h"
#include "vitrine/machine_report.h"
#include "vitrine/output.h"

namespace vitrine::cli {
namespace {

using backends::cpu::CpuBackend;
using backends::cpu::NumericPath;
using tensor::DType;

constexpr std::size_t kReads = 3;
constexpr std::array kUsualTypes = {DType::kF32,  DType::kF16,    DType::kBF16,   DType::kQ4_0,
                                    DType::kQ4_1, DType::kQ5_0,   DType::kQ5_1,   DType::kQ8_0,
                                    DType::kQ2_K, DType::kQ3_K,   DType::kQ4_K,   DType::kQ5_K,
                                    DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4};
constexpr std::array kCacheTypes = {DType::kF16, DType::kBF16, DType::kF32, DType::kQ8_0};
// Attention as a model of 1B parameters has it.
constexpr tools::AttentionBench kAttention{.num_heads = 32, .num_kv_heads = 8, .head_dim = 64};
constexpr std::array<std::pair<std::size_t, std::size_t>, 3> kAttentionSizes = {{{512, 512}, {1, 512}, {1, 4096}}};

bool is_float(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

BackendChoice choose(std::size_t num_threads) {
  RuntimeFlags flags;
  flags.num_threads = num_threads;
  return choose_backend(flags);
}

// A new one for each case: a backend keeps the weights that it packed.
CpuBackend make_bench_backend(const BackendChoice& choice) {
  return CpuBackend({.isa = choice.isa, .num_threads = choice.num_threads, .paths = choice.paths});
}

}  // namespace

double BenchKernels::Result::roof_share() const {
  const double of_memory = bandwidth > 0.0 ? timing.bytes / timing.seconds / bandwidth : 0.0;
  const double of_compute = peak > 0.0 ? timing.ops / timing.seconds / peak : 0.0;
  return std::max(of_memory, of_compute);
}

BenchKernels::BenchKernels(const Parser& parser) {
  parser.add("--type", types_, "Types of weights, such as q4_1,q8_0 (default: all of the mainstream)").with_commas();
  parser.add("--rows", rows_, "Rows of a step").with_commas().positive().shows_default();
  parser.add("--outputs", outputs_, "Outputs of the matrix").positive().shows_default();
  parser.add("--inputs", inputs_, "Inputs of the matrix, a multiple of 256").positive().shows_default();
  parser.add("-t,--threads", num_threads_, "Threads (default: every CPU this process may use)").between(1, 1024);
}

std::vector<DType> BenchKernels::chosen_types() const {
  if (types_.empty()) return {kUsualTypes.begin(), kUsualTypes.end()};
  std::vector<DType> types;
  for (const std::string& name : types_) {
    const tensor::DTypeInfo* info = tensor::find_dtype(name);
    if (info == nullptr) throw base::Exception(base::ErrorKind::kUsage, "--type " + name + ": no such type");
    types.push_back(info->type);
  }
  return types;
}

double BenchKernels::bandwidth_at(double bytes) {
  base::ThreadPool pool(choose(num_threads_).num_threads);
  return tools::median(tools::read_bandwidth(pool, static_cast<std::size_t>(bytes), kReads));
}

// Codes of few bits are multiplied as int8, prompt rows by the tile unit where there is one.
double BenchKernels::peak_of(DType type, ops::Role role) const {
  const BackendChoice choice = choose(num_threads_);
  const NumericPath path = role == ops::Role::kPrompt ? choice.paths.prompt : choice.paths.generated;
  if (path == NumericPath::kThroughput) return peaks_.back().ops_per_s;
  return peaks_[path == NumericPath::kLatency && !is_float(type) ? 1 : 0].ops_per_s;
}

void BenchKernels::measure_products(std::vector<Result>& results, const Context& context) {
  const BackendChoice choice = choose(num_threads_);
  for (const DType type : chosen_types()) {
    for (const ops::Role role : {ops::Role::kGenerated, ops::Role::kPrompt}) {
      // Where both roles take one path there is but one kernel.
      const bool is_prompt = role == ops::Role::kPrompt;
      if (is_prompt && choice.paths.prompt == choice.paths.generated) continue;
      for (const std::size_t num_rows : rows_) {
        CpuBackend backend = make_bench_backend(choice);
        const auto timing = tools::time_product(
            backend,
            {.type = type, .num_rows = num_rows, .out_features = outputs_, .in_features = inputs_, .role = role});
        const std::string name(tensor::dtype_info(type).name);
        if (!timing && types_.empty()) break;
        if (!timing) throw base::Exception(base::ErrorKind::kUsage, "--type " + name + ": has no encoder here");
        if (!context.flags.quiet) context.err.print(fmt::format("{} x {}\n", name, num_rows));
        results.push_back({is_prompt ? "product prompt" : "product generated", type, num_rows, outputs_, inputs_,
                           *timing, bandwidth_at(timing->bytes), peak_of(type, role)});
      }
    }
  }
}

void BenchKernels::measure_attention(std::vector<Result>& results) {
  const BackendChoice choice = choose(num_threads_);
  for (const DType type : kCacheTypes) {
    for (const auto& [num_rows, length] : kAttentionSizes) {
      CpuBackend backend = make_bench_backend(choice);
      tools::AttentionBench shape = kAttention;
      shape.type = type;
      shape.num_rows = num_rows;
      shape.length = length;
      const tools::KernelTiming timing = tools::time_attention(backend, shape);
      results.push_back({"attention", type, num_rows, length, shape.num_heads * shape.head_dim, timing,
                         bandwidth_at(timing.bytes), peaks_.front().ops_per_s});
    }
  }
}

int BenchKernels::run(Context& context) {
  if (inputs_ % 256 != 0)
    throw base::Exception(base::ErrorKind::kUsage, fmt::format("--inputs {}: not a multiple of 256", inputs_));
  const BackendChoice choice = choose(num_threads_);
  {
    base::ThreadPool pool(choice.num_threads);
    peaks_ = backends::cpu::measure_peaks(choice.isa, pool);
  }
  std::vector<Result> results;
  measure_products(results, context);
  if (types_.empty()) measure_attention(results);
  print(results, context);
  return 0;
}

void BenchKernels::print(const std::vector<Result>& results, const Context& context) const {
  using Json = nlohmann::ordered_json;
  const BackendChoice choice = choose(num_threads_);
  const std::string isa(backends::cpu::isa_name(choice.isa));
  Json json;
  Table table{{"KERNEL", "TYPE", "M", "N", "K", "us", "GB/s", "TOPS", "OF ROOF"}, {2, 3, 4, 5, 6, 7, 8}, {}};
  json["machine"] = machine_json(tools::read_machine(), choice);
  json["machine"]["peaks"] = peaks_json(peaks_);
  json["results"] = Json::array();
  for (const Result& result : results) {
    const double gb_per_s = result.timing.bytes / result.timing.seconds / 1e9;
    const double tops = result.timing.ops / result.timing.seconds / 1e12;
    const std::string type(tensor::dtype_info(result.type).name);
    json["results"].push_back({{"kernel", result.kernel},
                               {"isa", isa},
                               {"type", type},
                               {"m", result.m},
                               {"n", result.n},
                               {"k", result.k},
                               {"seconds", result.timing.seconds},
                               {"gb_per_s", gb_per_s},
                               {"tops", tops},
                               {"roof_share", result.roof_share()}});
    table.rows.push_back({result.kernel, type, std::to_string(result.m), std::to_string(result.n),
                          std::to_string(result.k), fmt::format("{:.1f}", result.timing.seconds * 1e6),
                          fmt::format("{:.1f}", gb_per_s), fmt::format("{:.3f}", tops),
                          fmt::format("{:.0f} %", 100.0 * result.roof_share())});
  }
  if (context.flags.json) return print_json(context, json);
  print_peaks(context.out, peaks_);
  print_table(context.out, table);
}

}  // namespace vitrine::cli
