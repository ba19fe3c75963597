// Bits of a published model: they must depend on the request alone.
#include <algorithm>

#include <gtest/gtest.h>

#include "models/sequence_runner.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"
#include "tools/hub/store.h"

namespace vitrine::models {
namespace {

using backends::cpu::CpuBackend;
using backends::cpu::Isa;
using backends::cpu::NumericPath;
using testing::SequenceRunner;

// Prompt rows and generated rows on different paths, so that a row which takes the wrong one is seen.
CpuBackend::Options options(Isa isa, std::size_t num_threads) {
  return {.isa = isa, .num_threads = num_threads, .paths = {NumericPath::kThroughput, NumericPath::kLatency}};
}

std::vector<TokenId> some_tokens(std::size_t count, std::size_t vocab_size) {
  std::vector<TokenId> ids;
  std::uint32_t state = 7;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    ids.push_back(static_cast<TokenId>((state >> 8U) % vocab_size));
  }
  return ids;
}

std::uint64_t hash_of(std::span<const float> values) {
  std::uint64_t hash = 1469598103934665603U;
  for (const float value : values)
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 1099511628211U;
  return hash;
}

std::vector<float> run_in_chunks(const Model& model, std::span<const TokenId> ids, std::size_t prompt_tokens,
                                 std::size_t chunk) {
  SequenceRunner runner(model, ids.size(), prompt_tokens, tensor::DType::kF16);
  std::vector<float> logits;
  for (std::size_t start = 0; start < ids.size(); start += chunk) {
    const std::vector<float> part = runner.append(ids.subspan(start, std::min(chunk, ids.size() - start)));
    logits.insert(logits.end(), part.begin(), part.end());
  }
  return logits;
}

class RealModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto store = hub::Store::from_environment();
    if (!store) VT_SKIP_WITHOUT("a folder for models");
    const auto found = store->find("smollm2-135m-instruct");
    if (!found || !*found) {
      testing::count_skipped("real models", 1, "smollm2-135m-instruct is not on disk");
      VT_SKIP_WITHOUT("smollm2-135m-instruct");
    }
    path_ = (*found)->path;
    testing::count_cases("real models", 1);
  }
  std::filesystem::path path_;
};

TEST_F(RealModelTest, ChunkSizesAndThreadsDoNotChangeABit) {
  const auto one = testing::load(path_, options(backends::cpu::supported_isas().back(), 1));
  const auto two = testing::load(path_, options(backends::cpu::supported_isas().back(), 2));
  const std::vector<TokenId> ids = some_tokens(90, one.model->config().vocab_size);
  const std::uint64_t whole = hash_of(run_in_chunks(*one.model, ids, 70, 512));
  for (const std::size_t chunk : {1U, 7U, 64U}) {
    EXPECT_EQ(hash_of(run_in_chunks(*two.model, ids, 70, chunk)), whole) << "chunk " << chunk;
  }
}

TEST_F(RealModelTest, WeightsFromTheCacheGiveTheSameLogits) {
  const testing::TempDir folder;
  CpuBackend::Options cached = options(backends::cpu::supported_isas().back(), 2);
  const auto packed = testing::load(path_, cached);
  const std::vector<TokenId> ids = some_tokens(9, packed.model->config().vocab_size);
  const std::uint64_t wanted = hash_of(run_in_chunks(*packed.model, ids, 5, 8));
  cached.cache = backends::cpu::PackedCache{folder.path(), "a model", 1U << 30U};
  testing::load(path_, cached).backend->finish_loading();
  const auto read = testing::load(path_, cached);
  EXPECT_GT(read.backend->weight_bytes_from_cache(), read.model->weight_bytes() * 9 / 10);
  EXPECT_EQ(hash_of(run_in_chunks(*read.model, ids, 5, 8)), wanted);
}

TEST_F(RealModelTest, EveryInstructionSetGivesTheSameLogits) {
  const auto generic = testing::load(path_, options(Isa::kGeneric, 2));
  const std::vector<TokenId> ids = some_tokens(3, generic.model->config().vocab_size);
  const std::uint64_t wanted = hash_of(run_in_chunks(*generic.model, ids, 2, 8));
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    const std::string name(backends::cpu::isa_name(isa));
    if (!backends::cpu::choose_isa(name)) {
      testing::count_skipped("real model logits on " + name, 1, "this machine lacks " + name);
      continue;
    }
    const auto fast = testing::load(path_, options(isa, 2));
    EXPECT_EQ(hash_of(run_in_chunks(*fast.model, ids, 2, 8)), wanted) << name;
    testing::count_cases("real model logits on " + name, 1);
  }
}

// Eight sequences of different lengths in one batch, against each of them alone.
TEST_F(RealModelTest, SevenNeighboursDoNotChangeABit) {
  const auto loaded = testing::load(path_, options(backends::cpu::supported_isas().back(), 2));
  const Model& model = *loaded.model;
  constexpr std::size_t kSequences = 8;
  constexpr std::size_t kBlocksEach = 2;
  auto cache = kvcache::KvCache::create(model.kv_shape(tensor::DType::kF16), kSequences * kBlocksEach).value_or_throw();
  std::vector<std::vector<kvcache::BlockId>> tables(kSequences);
  ForwardBatch batch;
  std::vector<std::vector<TokenId>> ids;
  for (std::size_t i = 0; i < kSequences; ++i) {
    for (std::size_t b = 0; b < kBlocksEach; ++b)
      tables[i].push_back(static_cast<kvcache::BlockId>(b * kSequences + i));
    ids.push_back(some_tokens(3 + 2 * i, model.config().vocab_size - i));
    batch.sequences.push_back({.first_row = batch.num_rows(),
                               .num_rows = ids[i].size(),
                               .first_position = 0,
                               .prompt_tokens = 1 + i,
                               .block_table = tables[i]});
    batch.token_ids.insert(batch.token_ids.end(), ids[i].begin(), ids[i].end());
    batch.logit_rows.push_back(batch.num_rows() - 1);
  }
  const auto workspace = model.make_workspace(batch.num_rows(), kSequences);
  model.forward(batch, cache, *workspace, nullptr);
  for (std::size_t i = 0; i < kSequences; ++i) {
    const std::vector<float> alone = run_in_chunks(model, ids[i], 1 + i, 64);
    const auto last = std::span(alone).last(model.config().vocab_size);
    EXPECT_EQ(hash_of(workspace->logits(i)), hash_of(last)) << "sequence " << i;
  }
}

}  // namespace
}  // namespace vitrine::models
