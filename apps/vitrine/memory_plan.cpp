#include "vitrine/memory_plan.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/checked.h"
#include "kvcache/kv_cache.h"
#include "models/registry.h"
#include "tools/hub/catalog.h"
#include "tools/hub/files.h"

namespace vitrine::cli {
namespace {

using base::ErrorKind;

tensor::DType parse_kv_type(const std::string& name) {
  const tensor::DTypeInfo* info = tensor::find_dtype(name);
  if (info == nullptr) throw base::Exception(ErrorKind::kUsage, "--kv-type " + name + ": use f16, bf16, f32 or q8_0");
  return info->type;
}

// Program, libraries, tokenizer and what the allocator keeps.
constexpr std::size_t kFixedBytes = std::size_t{40} << 20U;

std::size_t weight_bytes(const tools::ModelBundle& bundle, const RuntimeFlags& flags) {
  std::size_t total = 0;
  for (const loader::NamedTensor& tensor : bundle.weights().tensors())
    total += flags.reference ? tensor.view.shape.num_elements() * sizeof(float) : tensor.view.size_bytes();
  return total;
}

// What a token's MLP takes: gate and up, an answer per expert, and the widest rows that the backend prepares for it.
std::size_t mlp_floats(const models::ModelConfig& config) {
  const models::ExpertConfig& experts = config.experts;
  if (experts.num_experts == 0)
    return 2 * config.intermediate_size + std::max(config.hidden_size, config.intermediate_size);
  return experts.num_experts + experts.num_used * (2 * experts.intermediate_size + config.hidden_size +
                                                   std::max(config.hidden_size, experts.intermediate_size));
}

// The buffers of models::DecoderWorkspace and as much again for the rows that the backend prepares.
std::size_t buffer_bytes(const models::ModelConfig& config, const RuntimeFlags& flags) {
  const std::size_t row_floats =
      2 * config.hidden_size + mlp_floats(config) + 2 * config.head_dim * (config.num_heads + config.num_kv_heads);
  const std::size_t num_rows = flags.max_chunk_tokens + flags.max_sequences;
  return sizeof(float) * (num_rows * row_floats + flags.max_sequences * config.vocab_size);
}

const hub::CatalogEntry* largest_that_fits(const std::vector<hub::CatalogEntry>& catalog, std::size_t available_bytes) {
  const hub::CatalogEntry* best = nullptr;
  for (const hub::CatalogEntry& entry : catalog) {
    const bool fits = entry.bytes + entry.bytes / 4 + kFixedBytes <= available_bytes;
    if (fits && (best == nullptr || entry.bytes > best->bytes)) best = &entry;
  }
  return best;
}

// What to do about a model that does not fit, most like the wish first.
std::string ways_out(const MemoryNeed& need, std::size_t available_bytes) {
  std::vector<std::string> ways;
  const std::size_t largest = need.largest_context(available_bytes);
  if (largest > 0) ways.push_back(fmt::format("--ctx {} would fit, about twice that with --kv-type q8_0", largest));
  const auto catalog = hub::builtin_catalog();
  const hub::CatalogEntry* smaller = largest_that_fits(catalog, available_bytes);
  if (smaller != nullptr && (largest == 0 || smaller->bytes < need.weights)) {
    ways.push_back(fmt::format("{} ({}) would fit", smaller->name, hub::format_bytes(smaller->bytes)));
  }
  if (ways.empty()) ways.emplace_back("free some memory");
  return fmt::format("{}", fmt::join(ways, "; or "));
}

[[noreturn]] void refuse(const MemoryNeed& need, std::size_t context_length, std::size_t available_bytes) {
  throw base::Exception(
      ErrorKind::kNoMemory,
      fmt::format(
          "memory: a context of {} tokens needs {} (weights {}, KV cache {}, buffers {}), but {} are available; "
          "{}",
          context_length, hub::format_bytes(need.total(context_length)), hub::format_bytes(need.weights),
          hub::format_bytes(need.kv(context_length)), hub::format_bytes(need.buffers),
          hub::format_bytes(available_bytes), ways_out(need, available_bytes)));
}

}  // namespace

std::size_t MemoryNeed::kv(std::size_t context_length) const {
  const std::size_t whole = base::ceil_div(context_length, kvcache::kBlockTokens) * kv_per_block;
  return kv_limit > 0 ? std::min(kv_limit, whole) : whole;
}

std::size_t MemoryNeed::largest_context(std::size_t available_bytes) const {
  if (weights + buffers >= available_bytes || kv_per_block == 0) return 0;
  return (available_bytes - weights - buffers) / kv_per_block * kvcache::kBlockTokens;
}

std::size_t shared_kv_bytes(const MemoryNeed& need, std::size_t context_length, std::size_t num_sequences,
                            std::size_t available_bytes) {
  const std::size_t one = need.kv(context_length);
  const std::size_t rest = need.weights + need.buffers;
  const std::size_t left = available_bytes > rest ? available_bytes - rest : 0;
  return std::max(one, std::min(num_sequences * one, left / 2));
}

MemoryNeed memory_need(const tools::ModelBundle& bundle, const models::ModelConfig& config, tensor::DType kv_type,
                       const RuntimeFlags& flags) {
  MemoryNeed need;
  need.weights = weight_bytes(bundle, flags);
  need.kv_per_block = kvcache::block_bytes({.num_layers = config.num_layers,
                                            .num_kv_heads = config.num_kv_heads,
                                            .head_dim = config.head_dim,
                                            .type = kv_type})
                          .value_or_throw();
  need.buffers = buffer_bytes(config, flags) + kFixedBytes;
  if (!flags.kv_memory.empty()) need.kv_limit = parse_bytes(flags.kv_memory, "--kv-memory").value_or_throw();
  return need;
}

std::size_t choose_context(const MemoryNeed& need, const models::ModelConfig& config, const RuntimeFlags& flags,
                           std::size_t available_bytes) {
  if (flags.context_length > config.context_length) {
    throw base::Exception(ErrorKind::kUsage, fmt::format("--ctx {}: the model's context is {} tokens; use at most that",
                                                         flags.context_length, config.context_length));
  }
  const std::size_t wanted = flags.context_length != 0 ? flags.context_length : config.context_length;
  if (need.total(wanted) <= available_bytes) return wanted;
  const std::size_t largest = need.largest_context(available_bytes);
  if (flags.context_length != 0 || largest == 0) refuse(need, wanted, available_bytes);
  return largest;
}

MemoryPlan plan_memory(const tools::ModelBundle& bundle, const RuntimeFlags& flags, std::size_t available_bytes) {
  const models::ModelConfig config = models::read_model_config(bundle.files).value_or_throw();
  MemoryPlan plan;
  plan.kv_type = parse_kv_type(flags.kv_type);
  plan.need = memory_need(bundle, config, plan.kv_type, flags);
  plan.model_context_length = config.context_length;
  plan.context_length = choose_context(plan.need, config, flags, available_bytes);
  plan.kv_bytes = plan.need.kv_limit > 0
                      ? plan.need.kv_limit
                      : shared_kv_bytes(plan.need, plan.context_length, flags.max_sequences, available_bytes);
  return plan;
}

}  // namespace vitrine::cli
