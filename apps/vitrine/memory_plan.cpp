#include "vitrine/memory_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kvcache/kv_cache.h"
#include "tools/hub/catalog.h"
#include "tools/hub/files.h"
#include "vitrine/backend_choice.h"

namespace vitrine::cli {
namespace {

using base::ErrorKind;

tensor::DType parse_kv_type(const std::string& name) {
  const tensor::DTypeInfo* info = tensor::find_dtype(name);
  if (info == nullptr) throw base::Exception(ErrorKind::kUsage, "--kv-type " + name + ": use f16, bf16, f32 or q8_0");
  return info->type;
}

// Of a model that is known by its name alone: program, tokenizer and buffers.
constexpr std::size_t kFixedBytes = std::size_t{40} << 20U;

plan::RunSizes run_sizes(const RuntimeFlags& flags, tensor::DType kv_type) {
  return {
      .kv_type = kv_type, .max_chunk_tokens = flags.max_chunk_tokens, .num_threads = choose_backend(flags).num_threads};
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
  if (smaller != nullptr && (largest == 0 || smaller->bytes < need.memory(1).weights)) {
    ways.push_back(fmt::format("{} ({}) would fit", smaller->name, hub::format_bytes(smaller->bytes)));
  }
  if (ways.empty()) ways.emplace_back("free some memory");
  return fmt::format("{}", fmt::join(ways, "; or "));
}

[[noreturn]] void refuse(const MemoryNeed& need, std::size_t context_length, std::size_t available_bytes) {
  const plan::Memory memory = need.memory(context_length);
  throw base::Exception(
      ErrorKind::kNoMemory,
      fmt::format(
          "memory: a context of {} tokens needs {} (weights {}, KV cache {}, buffers {}), but {} are available; "
          "{}",
          context_length, hub::format_bytes(need.total(context_length)), hub::format_bytes(memory.weights),
          hub::format_bytes(need.kv(context_length)), hub::format_bytes(memory.without_kv() - memory.weights),
          hub::format_bytes(available_bytes), ways_out(need, available_bytes)));
}

}  // namespace

MemoryNeed::MemoryNeed(const loader::ModelFiles& files, const RuntimeFlags& flags)
    : MemoryNeed(plan::network_of(files, *choose_backend(flags).memory()), choose_backend(flags).memory(), flags) {}

MemoryNeed::MemoryNeed(plan::Network network, std::unique_ptr<ops::MemoryModel> backend, const RuntimeFlags& flags)
    : backend_(std::move(backend)),
      network_(std::make_unique<plan::Network>(std::move(network))),
      kv_type_(parse_kv_type(flags.kv_type)),
      max_sequences_(flags.max_sequences) {
  kvcache::block_bytes({1, network_->config.num_kv_heads, network_->config.head_dim, kv_type_}).value_or_throw();
  forecast_ = std::make_unique<plan::MemoryForecast>(
      plan::MemoryForecast::create(*network_, *backend_, run_sizes(flags, kv_type_)).value_or_throw());
  if (!flags.kv_memory.empty()) kv_limit_ = parse_bytes(flags.kv_memory, "--kv-memory").value_or_throw();
}

std::size_t MemoryNeed::kv(std::size_t context_length) const {
  const std::size_t whole = forecast_->kv_allocated(context_length);
  return kv_limit_ > 0 ? std::min(kv_limit_, whole) : whole;
}

std::size_t MemoryNeed::largest_context(std::size_t available_bytes) const {
  const std::size_t num_blocks =
      plan::largest_that_fits(config().context_length / kvcache::kBlockTokens, [&](std::size_t blocks) {
        const std::size_t context_length = blocks * kvcache::kBlockTokens;
        return without_kv(context_length) + forecast_->kv_allocated(context_length) <= available_bytes;
      });
  return num_blocks * kvcache::kBlockTokens;
}

std::size_t shared_kv_bytes(const MemoryNeed& need, std::size_t context_length, std::size_t num_sequences,
                            std::size_t available_bytes) {
  const std::size_t one = need.kv(context_length);
  const std::size_t rest = need.without_kv(context_length);
  const std::size_t left = available_bytes > rest ? available_bytes - rest : 0;
  return std::max(one, std::min(num_sequences * one, left / 2));
}

std::size_t choose_context(const MemoryNeed& need, const RuntimeFlags& flags, std::size_t available_bytes) {
  const std::size_t most = need.config().context_length;
  if (flags.context_length > most) {
    throw base::Exception(ErrorKind::kUsage, fmt::format("--ctx {}: the model's context is {} tokens; use at most that",
                                                         flags.context_length, most));
  }
  const std::size_t wanted = flags.context_length != 0 ? flags.context_length : most;
  if (need.total(wanted) <= available_bytes) return wanted;
  const std::size_t largest = need.largest_context(available_bytes);
  if (flags.context_length != 0 || largest == 0) refuse(need, wanted, available_bytes);
  return largest;
}

MemoryPlan plan_memory(const MemoryNeed& need, const RuntimeFlags& flags, std::size_t available_bytes) {
  MemoryPlan plan;
  plan.kv_type = need.kv_type();
  plan.model_context_length = need.config().context_length;
  plan.context_length = choose_context(need, flags, available_bytes);
  plan.memory = need.memory(plan.context_length);
  plan.kv_bytes = need.kv_limit() > 0
                      ? need.kv_limit()
                      : shared_kv_bytes(need, plan.context_length, flags.max_sequences, available_bytes);
  return plan;
}

}  // namespace vitrine::cli
