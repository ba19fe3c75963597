#include <algorithm>
#include <array>

#include "tools/lab/batching_lab.h"
#include "tools/lab/chunked_prefill_lab.h"
#include "tools/lab/concurrency_lab.h"
#include "tools/lab/context_lab.h"
#include "tools/lab/kv_cache_lab.h"
#include "tools/lab/lab.h"
#include "tools/lab/paged_lab.h"
#include "tools/lab/prefill_decode_lab.h"
#include "tools/lab/prefix_cache_lab.h"
#include "tools/lab/sampling_lab.h"
#include "tools/lab/tokenizers_lab.h"

namespace vitrine::lab {
namespace {

Report kv_cache(const Workbench& bench) {
  if (!bench.is_quick) return run_kv_cache(bench, {});
  return run_kv_cache(bench, {.context_lengths = {16, 48}, .answer_tokens = 3, .rounds = Rounds::quick()});
}

Report prefill_decode(const Workbench& bench) {
  if (!bench.is_quick) return run_prefill_decode(bench, {});
  return run_prefill_decode(bench,
                            {.prompt_rows = {8, 32}, .batches = {1, 4}, .answer_tokens = 4, .rounds = Rounds::quick()});
}

Report sampling(const Workbench& bench) {
  if (!bench.is_quick) return run_sampling(bench, {});
  return run_sampling(bench, {.num_answers = 4, .answer_tokens = 3});
}

Report batching(const Workbench& bench) {
  if (!bench.is_quick) return run_batching(bench, {});
  return run_batching(bench, {.prompt_tokens = {8, 16, 12},
                              .answer_tokens = {2, 6, 3},
                              .num_requests = 6,
                              .batch = 3,
                              .rounds = Rounds::quick()});
}

Report paged(const Workbench& bench) {
  if (!bench.is_quick) return run_paged(bench, {});
  return run_paged(bench, {.context_length = 64,
                           .prompt_tokens = 8,
                           .max_tokens = 24,
                           .answer_tokens = {3, 9},
                           .num_requests = 6,
                           .kv_tokens = 128,
                           .rounds = Rounds::quick()});
}

Report chunked_prefill(const Workbench& bench) {
  if (!bench.is_quick) return run_chunked_prefill(bench, {});
  return run_chunked_prefill(bench, {.num_answers = 2,
                                     .answer_prompt_tokens = 8,
                                     .tokens_before = 4,
                                     .long_prompt_tokens = 96,
                                     .chunks = {32},
                                     .rounds = Rounds::quick()});
}

Report prefix_cache(const Workbench& bench) {
  if (!bench.is_quick) return run_prefix_cache(bench, {});
  return run_prefix_cache(bench, {.shared_tokens = {0, 64}, .own_tokens = 8, .rounds = Rounds::quick()});
}

Report context(const Workbench& bench) {
  if (!bench.is_quick) return run_context(bench, {});
  return run_context(bench, {.lengths = {16, 64}, .answer_tokens = 3, .rounds = Rounds::quick()});
}

Report concurrency(const Workbench& bench) {
  if (!bench.is_quick) return run_concurrency(bench, {});
  return run_concurrency(bench, {.users = {1, 4}, .prompt_tokens = 8, .answer_tokens = 4, .rounds = Rounds::quick()});
}

// name, one line, what runs it
constexpr std::array kLabs = {
    Lab{"kv-cache", "What the KV cache saves, length by length, and what a much copied count says of it", kv_cache},
    Lab{"prefill-decode", "What bounds prefill and decode, computing or memory, under the roofline", prefill_decode},
    Lab{"sampling", "What temperature, top-k and top-p leave of a distribution", sampling},
    Lab{"batching", "One after the other, static and continuous batches: throughput and latency", batching},
    Lab{"paged", "Contiguous reservations against blocks: users, wasted bytes, tokens per second", paged},
    Lab{"chunked-prefill", "What running answers feel of a long prompt, whole and in chunks", chunked_prefill},
    Lab{"prefix-cache", "The first token of a prompt whose beginning was seen before", prefix_cache},
    Lab{"tokenizers", "The same content in several languages, in tokens", run_tokenizers},
    Lab{"context", "Memory and speed by the length of the context", context},
    Lab{"concurrency", "ITL and TPOT of 1 to 64 users at once, and what they get together", concurrency},
};

}  // namespace

std::span<const Lab> labs() {
  return kLabs;
}

const Lab* find_lab(std::string_view name) {
  const auto* found = std::ranges::find(kLabs, name, &Lab::name);
  return found == kLabs.end() ? nullptr : found;
}

}  // namespace vitrine::lab
