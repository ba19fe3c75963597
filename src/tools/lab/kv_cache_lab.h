#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tools/lab/report.h"
#include "tools/lab/workbench.h"

namespace vitrine::lab {

// Answers with and without a KV cache: what it saves, length by length.
struct KvCacheOptions {
  std::vector<std::size_t> context_lengths = {64, 128, 256, 512, 1024};  // prompts
  std::size_t answer_tokens = 6;
  Rounds rounds = {.budget_s = 75.0};
};

struct KvCacheRow {
  std::size_t context_length = 0;
  double with_s = 0.0;  // of the whole answer, the median
  double without_s = 0.0;
  double token_with_s = 0.0;  // of a token after the first
  double token_without_s = 0.0;
  Spread total_ratio;  // without to with: how much faster the cache makes it
  Spread token_ratio;
  double copied_ratio = 0.0;   // what the copied count says that to be
  double counted_ratio = 0.0;  // what the operations of this model say, for the same tokens
  bool is_same_answer = true;
};

// The count that is copied from page to page, of a head of 64 channels and `n` tokens.
struct CopiedCount {
  double without_cache = 0.0;  // the sum over i = 1 to n of 2 i 64
  double with_cache = 0.0;     // 2 n 64, and the sum over i = 1 to n - 1 of 2 64 + 2 (n + i) 64
};
CopiedCount copied_count(std::size_t n);

// Operations of `answer_tokens` tokens after a prompt, without a cache to those with one.
double counted_ratio(const plan::Network& network, std::size_t prompt_tokens, std::size_t answer_tokens);

Conclusion conclude_kv_cache(std::span<const KvCacheRow> rows);
Report kv_cache_report(std::span<const KvCacheRow> rows);
Report run_kv_cache(const Workbench& bench, const KvCacheOptions& options);

}  // namespace vitrine::lab
