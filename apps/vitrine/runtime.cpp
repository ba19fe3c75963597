#include "vitrine/runtime.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/registry.h"
#include "tools/hub/files.h"
#include "tools/machine.h"

namespace vitrine::cli {
namespace {

using backends::cpu::CpuBackend;
using backends::cpu::PathTable;
using base::ErrorKind;

// Program, libraries and what the allocator keeps.
constexpr std::size_t kFixedBytes = 40U << 20U;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

tensor::DType parse_kv_type(const std::string& name) {
  const tensor::DTypeInfo* info = tensor::find_dtype(name);
  if (info == nullptr) throw base::Exception(ErrorKind::kUsage, "--kv-type " + name + ": use f16, bf16, f32 or q8_0");
  return info->type;
}

PathTable paths_for(const RuntimeFlags& flags, backends::cpu::Isa isa) {
  return flags.reference ? PathTable::reference() : PathTable::for_isa(isa);
}

// What a model takes with its weights loaded, by the sizes in its header.
struct MemoryNeed {
  std::size_t weights = 0;
  std::size_t kv_per_block = 0;
  std::size_t activations = 0;

  std::size_t total(std::size_t context_length) const {
    return weights + activations + kFixedBytes + (context_length / kvcache::kBlockTokens + 1) * kv_per_block;
  }
};

MemoryNeed memory_need(const tools::ModelBundle& bundle, const models::ModelConfig& config, tensor::DType kv_type,
                       const RuntimeFlags& flags) {
  MemoryNeed need;
  for (const loader::NamedTensor& tensor : bundle.weights().tensors()) {
    need.weights += flags.reference ? tensor.view.shape.num_elements() * sizeof(float) : tensor.view.size_bytes();
  }
  need.kv_per_block = kvcache::block_bytes({.num_layers = config.num_layers,
                                            .num_kv_heads = config.num_kv_heads,
                                            .head_dim = config.head_dim,
                                            .type = kv_type})
                          .value_or_throw();
  const std::size_t row_floats = 3 * config.hidden_size + 2 * config.intermediate_size +
                                 2 * config.head_dim * (config.num_heads + config.num_kv_heads);
  need.activations = sizeof(float) * (flags.max_chunk_tokens * row_floats + config.vocab_size);
  return need;
}

[[noreturn]] void refuse(const MemoryNeed& need, std::size_t context_length, std::size_t available) {
  std::string fix = "use a smaller model or quantisation (vitrine pull lists what fits)";
  if (need.total(0) < available && need.kv_per_block > 0) {
    const std::size_t largest = (available - need.total(0)) / need.kv_per_block * kvcache::kBlockTokens;
    if (largest >= kvcache::kBlockTokens) fix = fmt::format("--ctx {} would fit, more with --kv-type q8_0", largest);
  }
  throw base::Exception(
      ErrorKind::kNoMemory,
      fmt::format("memory: the model with a context of {} tokens needs {}, but {} are available; {}", context_length,
                  hub::format_bytes(need.total(context_length)), hub::format_bytes(available), fix));
}

// The context asked for, or the model's own cut to what memory allows.
std::size_t choose_context(const MemoryNeed& need, const models::ModelConfig& config, const RuntimeFlags& flags) {
  const std::size_t available = tools::read_machine().available_memory_bytes;
  if (flags.context_length > config.context_length) {
    throw base::Exception(ErrorKind::kUsage, fmt::format("--ctx {}: the model's context is {} tokens",
                                                         flags.context_length, config.context_length));
  }
  if (flags.context_length != 0) {
    if (need.total(flags.context_length) > available) refuse(need, flags.context_length, available);
    return flags.context_length;
  }
  if (need.total(config.context_length) <= available) return config.context_length;
  if (need.total(kvcache::kBlockTokens) > available) refuse(need, config.context_length, available);
  const std::size_t largest = (available - need.total(0)) / need.kv_per_block * kvcache::kBlockTokens;
  return std::min(config.context_length, largest);
}

}  // namespace

void add_runtime_flags(CLI::App& app, RuntimeFlags& flags) {
  constexpr const char* kGroup = "Running";
  app.add_option("-c,--ctx,--ctx-size,--max-model-len", flags.context_length,
                 "Context length in tokens (default: the model's own)")
      ->check(CLI::PositiveNumber)
      ->group(kGroup);
  app.add_option("-t,--threads", flags.num_threads, "Threads (default: every CPU this process may use)")
      ->check(CLI::Range(1, 1024))
      ->group(kGroup);
  app.add_option("--kv-type", flags.kv_type, "Type of the KV cache: f16, bf16, f32 or q8_0")->group(kGroup);
  app.add_option("--kv-memory", flags.kv_memory, "Memory of the KV cache, such as 4GiB")->group(kGroup);
  app.add_option("--chunk", flags.max_chunk_tokens, "Most prompt tokens in one step")
      ->check(CLI::Range(1, 65536))
      ->group(kGroup);
  app.add_flag("--reference", flags.reference, "Compute everything in plain float32")->group(kGroup);
  app.add_option_function<int>(
         "--tensor-parallel-size",
         [](int size) {
           if (size != 1) {
             throw base::Exception(ErrorKind::kUsage,
                                   "--tensor-parallel-size: only 1 so far; one process runs one model");
           }
         },
         "1: the only value so far")
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--gpu-memory-utilization",
         [](const std::string&) {
           throw base::Exception(ErrorKind::kUsage,
                                 "--gpu-memory-utilization: there is no GPU here; use --kv-memory 4GiB");
         },
         "Refused: use --kv-memory")
      ->group("");
}

base::Result<std::size_t> parse_bytes(const std::string& text, const std::string& flag) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  static constexpr std::array kUnits = std::to_array<Unit>({{"", 1.0},
                                                            {"k", 1024.0},
                                                            {"kib", 1024.0},
                                                            {"kb", 1e3},
                                                            {"m", 1048576.0},
                                                            {"mib", 1048576.0},
                                                            {"mb", 1e6},
                                                            {"g", 1073741824.0},
                                                            {"gib", 1073741824.0},
                                                            {"gb", 1e9},
                                                            {"t", 1099511627776.0},
                                                            {"tib", 1099511627776.0},
                                                            {"tb", 1e12}});
  double number = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* found = std::ranges::find(kUnits, unit, &Unit::name);
  if (code != std::errc() || found == kUnits.end() || !(number > 0.0) || number * found->bytes > 1e18) {
    return base::usage_error(fmt::format("{} {}: not a size; write it like 512MiB or 4GiB", flag, text));
  }
  return static_cast<std::size_t>(number * found->bytes);
}

Runtime::Runtime(const std::string& path, const RuntimeFlags& flags) {
  const auto start = std::chrono::steady_clock::now();
  const tensor::DType kv_type = parse_kv_type(flags.kv_type);
  bundle_ = tools::open_model(path).value_or_throw();
  try {
    const models::ModelConfig config = models::read_model_config(bundle_.files).value_or_throw();
    const std::size_t context_length = choose_context(memory_need(bundle_, config, kv_type, flags), config, flags);
    const backends::cpu::Isa isa = backends::cpu::choose_isa_from_environment().value_or_throw();
    backend_ = std::make_unique<CpuBackend>(
        CpuBackend::Options{.isa = isa,
                            .num_threads = flags.num_threads != 0 ? flags.num_threads : base::usable_cpu_count(),
                            .paths = paths_for(flags, isa)});
    model_ = models::load_model(bundle_.files, *backend_).value_or_throw();
    ledger_.add(base::MemoryKind::kWeights, model_->weight_bytes());
    create_engine(flags, kv_type, context_length);
  } catch (const base::Exception& exception) {
    if (exception.error().kind != ErrorKind::kBadFile) throw;
    throw base::Exception(ErrorKind::kBadFile, path + ": " + exception.error().message);
  }
  load_s_ = seconds_since(start);
}

void Runtime::create_engine(const RuntimeFlags& flags, tensor::DType kv_type, std::size_t context_length) {
  engine::EngineConfig config;
  config.context_length = context_length;
  config.kv_type = kv_type;
  if (!flags.kv_memory.empty()) config.kv_memory_bytes = parse_bytes(flags.kv_memory, "--kv-memory").value_or_throw();
  config.max_chunk_tokens = flags.max_chunk_tokens;
  config.prefix_seed = fmt::format("{}|{}|{}", bundle_.path.string(), backends::cpu::isa_name(backend_->isa()),
                                   backend_->paths().name());
  engine_ = engine::Engine::create(*model_, std::move(config), ledger_).value_or_throw();
}

const tokenizer::Tokenizer& Runtime::tokenizer() const {
  if (bundle_.tokenizer == nullptr) {
    throw base::Exception(ErrorKind::kBadFile,
                          bundle_.path.string() + ": the model brings no tokenizer; give token ids with --ids");
  }
  return *bundle_.tokenizer;
}

std::vector<TokenId> Runtime::end_tokens() const {
  if (bundle_.tokenizer == nullptr) return {};
  const auto ids = bundle_.tokenizer->end_of_generation();
  return {ids.begin(), ids.end()};
}

void Runtime::note_scratch() {
  const std::size_t now = backend_->scratch_bytes();
  ledger_.add(base::MemoryKind::kScratch, now - noted_scratch_bytes_);
  noted_scratch_bytes_ = now;
}

}  // namespace vitrine::cli
