#pragma once

#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/kernel_fixture.h"

// A sequence of random queries, keys and values, and what attention over it is in double precision.
namespace vitrine::backends::cpu {

inline constexpr std::size_t kKvHeads = 2;

struct Sequence {
  std::vector<float> queries, keys, values;  // [length, heads * head_dim]
  std::size_t length;
  std::size_t num_heads;
  std::size_t head_dim;

  Sequence(vitrine::testing::Random& random, std::size_t num_positions, std::size_t heads = 6, std::size_t dim = 64)
      : queries(random.normal(num_positions * heads * dim)),
        keys(random.normal(num_positions * kKvHeads * dim)),
        values(random.normal(num_positions * kKvHeads * dim)),
        length(num_positions),
        num_heads(heads),
        head_dim(dim) {}
};

// Feeds the sequence in chunks; blocks lie in reverse order in the cache. The first prompt_tokens rows are prompt rows.
// With `stale`, slots hold what is not a number until they are written.
inline std::vector<float> attend(CpuBackend& backend, tensor::DType type, Sequence sequence, std::size_t chunk,
                                 std::size_t window, std::size_t prompt_tokens = 0, bool stale = false) {
  const std::size_t num_blocks = sequence.length / kvcache::kBlockTokens + 1;
  auto cache = kvcache::KvCache::create({1, kKvHeads, sequence.head_dim, type}, num_blocks).value_or_throw();
  std::vector<kvcache::BlockId> table;
  for (std::size_t i = num_blocks; i > 0; --i)
    table.push_back(static_cast<kvcache::BlockId>(i - 1));
  if (stale) {
    std::vector<float> nothing(num_blocks * kvcache::kBlockTokens * kKvHeads * sequence.head_dim, NAN);
    const std::size_t num_rows = num_blocks * kvcache::kBlockTokens;
    const ops::SequenceRows all{
        .first_row = 0, .num_rows = num_rows, .first_position = 0, .prompt_tokens = 0, .block_table = table};
    const ops::Rows rows{nothing.data(), num_rows, kKvHeads * sequence.head_dim};
    backend.store_kv(rows, rows, {&cache, 0, {&all, 1}});
  }
  std::vector<float> out(sequence.queries.size());
  for (std::size_t start = 0; start < sequence.length; start += chunk) {
    const std::size_t rows = std::min(chunk, sequence.length - start);
    const ops::SequenceRows part{.first_row = 0,
                                 .num_rows = rows,
                                 .first_position = start,
                                 .prompt_tokens = prompt_tokens,
                                 .block_table = table};
    const ops::AttentionContext context{&cache, 0, {&part, 1}};
    const auto at = [&](std::vector<float>& v, std::size_t heads) {
      return ops::Rows{v.data() + start * heads * sequence.head_dim, rows, heads * sequence.head_dim};
    };
    backend.store_kv(at(sequence.keys, kKvHeads), at(sequence.values, kKvHeads), context);
    backend.attention(at(sequence.queries, sequence.num_heads),
                      {.num_heads = sequence.num_heads, .scale = 0.125F, .window = window}, context,
                      at(out, sequence.num_heads));
  }
  return out;
}

// Of one row, [num_heads * head_dim].
inline std::vector<double> exact_attention(const Sequence& s, std::size_t row, std::size_t window) {
  std::vector<double> out(s.num_heads * s.head_dim, 0.0);
  for (std::size_t head = 0; head < s.num_heads; ++head) {
    const std::size_t kv = head / (s.num_heads / kKvHeads);
    const std::size_t begin = window != 0 && row + 1 > window ? row + 1 - window : 0;
    std::vector<double> weights;
    for (std::size_t p = begin; p <= row; ++p) {
      double dot = 0.0;
      for (std::size_t d = 0; d < s.head_dim; ++d) {
        dot += static_cast<double>(s.queries[(row * s.num_heads + head) * s.head_dim + d]) *
               static_cast<double>(s.keys[(p * kKvHeads + kv) * s.head_dim + d]);
      }
      weights.push_back(std::exp(dot * 0.125));
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t p = begin; p <= row; ++p) {
      for (std::size_t d = 0; d < s.head_dim; ++d) {
        out[head * s.head_dim + d] +=
            weights[p - begin] / sum * static_cast<double>(s.values[(p * kKvHeads + kv) * s.head_dim + d]);
      }
    }
  }
  return out;
}

inline void expect_near_exact(const Sequence& sequence, std::span<const float> got, std::size_t row, std::size_t window,
                              double tolerance) {
  const std::vector<double> wanted = exact_attention(sequence, row, window);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(got[row * wanted.size() + i], wanted[i], tolerance)
        << "row " << row << ", " << i << ", window " << window;
}

}  // namespace vitrine::backends::cpu
