#pragma once

#include <cstddef>
#include <vector>

#include "tools/lab/report.h"
#include "tools/lab/workbench.h"

namespace vitrine::lab {

// The second of two prompts with the same beginning, with and without a prefix cache.
struct PrefixCacheOptions {
  std::vector<std::size_t> shared_tokens = {0, 128, 512, 1024};
  std::size_t own_tokens = 32;
  Rounds rounds = {.most = 15};
};

struct PrefixCacheRow {
  std::size_t shared_tokens = 0;
  std::size_t prompt_tokens = 0;
  std::size_t cached_tokens = 0;  // of the second prompt, as the engine says
  double ttft_with_s = 0.0;       // medians
  double ttft_without_s = 0.0;
  double tokens_ratio = 0.0;  // prompt to those of it that had to be computed
  Spread speedup;             // without to with
};

// Rows by rising shared_tokens.
Conclusion conclude_prefix_cache(std::span<const PrefixCacheRow> rows);
Report prefix_cache_report(std::span<const PrefixCacheRow> rows);
Report run_prefix_cache(const Workbench& bench, const PrefixCacheOptions& options);

}  // namespace vitrine::lab
