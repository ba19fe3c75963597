#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "models/sequence_runner.h"

// What the tests of equal bits share: models run with prompt rows and generated rows on different paths, so that a row
// which takes the wrong one is seen.
namespace vitrine::testing {

inline backends::cpu::CpuBackend::Options two_path_options(backends::cpu::Isa isa, std::size_t num_threads) {
  using backends::cpu::NumericPath;
  return {.isa = isa, .num_threads = num_threads, .paths = {NumericPath::kThroughput, NumericPath::kLatency}};
}

inline std::vector<TokenId> some_tokens(std::size_t count, std::size_t vocab_size) {
  std::vector<TokenId> ids;
  std::uint32_t state = 7;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    ids.push_back(static_cast<TokenId>((state >> 8U) % vocab_size));
  }
  return ids;
}

inline std::uint64_t hash_of(std::span<const float> values) {
  std::uint64_t hash = 1469598103934665603U;
  for (const float value : values)
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 1099511628211U;
  return hash;
}

// Logits of all tokens, fed in chunks.
inline std::vector<float> run_in_chunks(const models::Model& model, std::span<const TokenId> ids,
                                        std::size_t prompt_tokens, std::size_t chunk) {
  SequenceRunner runner(model, ids.size(), prompt_tokens, tensor::DType::kF16);
  std::vector<float> logits;
  for (std::size_t start = 0; start < ids.size(); start += chunk) {
    const std::vector<float> part = runner.append(ids.subspan(start, std::min(chunk, ids.size() - start)));
    logits.insert(logits.end(), part.begin(), part.end());
  }
  return logits;
}

// Eight sequences of different lengths in one batch; sequence i has some_tokens(3 + 2 i, vocab_size - i), 1 + i of them
// prompt. Gives the hash of each one's last logits, and that of the same sequence alone.
struct NeighbourBits {
  std::vector<std::uint64_t> together;
  std::vector<std::uint64_t> alone;
};
inline NeighbourBits neighbour_bits(const models::Model& model) {
  constexpr std::size_t kSequences = 8;
  constexpr std::size_t kBlocksEach = 2;
  const std::size_t vocab_size = model.config().vocab_size;
  auto cache = kvcache::KvCache::create(model.kv_shape(tensor::DType::kF16), kSequences * kBlocksEach).value_or_throw();
  std::vector<std::vector<kvcache::BlockId>> tables(kSequences);
  models::ForwardBatch batch;
  NeighbourBits bits;
  for (std::size_t i = 0; i < kSequences; ++i) {
    for (std::size_t b = 0; b < kBlocksEach; ++b)
      tables[i].push_back(static_cast<kvcache::BlockId>(b * kSequences + i));
    const std::vector<TokenId> ids = some_tokens(3 + 2 * i, vocab_size - i);
    batch.sequences.push_back({.first_row = batch.num_rows(),
                               .num_rows = ids.size(),
                               .first_position = 0,
                               .prompt_tokens = 1 + i,
                               .block_table = tables[i]});
    batch.token_ids.insert(batch.token_ids.end(), ids.begin(), ids.end());
    batch.logit_rows.push_back(batch.num_rows() - 1);
    const std::vector<float> logits = run_in_chunks(model, ids, 1 + i, 64);
    bits.alone.push_back(hash_of(std::span(logits).last(vocab_size)));
  }
  const auto workspace = model.make_workspace(batch.num_rows(), kSequences);
  model.forward(batch, cache, *workspace, nullptr);
  for (std::size_t i = 0; i < kSequences; ++i)
    bits.together.push_back(hash_of(workspace->logits(i)));
  return bits;
}

}  // namespace vitrine::testing
