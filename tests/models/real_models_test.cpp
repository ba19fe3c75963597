// Bits of a published model: they must depend on the request alone.
#include <gtest/gtest.h>

#include "models/row_bits.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"
#include "tools/hub/store.h"

namespace vitrine::models {
namespace {

using backends::cpu::Isa;
using testing::hash_of;
using testing::run_in_chunks;
using testing::some_tokens;
using testing::two_path_options;

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
  const auto one = testing::load(path_, two_path_options(backends::cpu::supported_isas().back(), 1));
  const auto two = testing::load(path_, two_path_options(backends::cpu::supported_isas().back(), 2));
  const std::vector<TokenId> ids = some_tokens(90, one.model->config().vocab_size);
  const std::uint64_t whole = hash_of(run_in_chunks(*one.model, ids, 70, 512));
  for (const std::size_t chunk : {1U, 7U, 64U}) {
    EXPECT_EQ(hash_of(run_in_chunks(*two.model, ids, 70, chunk)), whole) << "chunk " << chunk;
  }
}

TEST_F(RealModelTest, WeightsFromTheCacheGiveTheSameLogits) {
  const testing::TempDir folder;
  backends::cpu::CpuBackend::Options cached = two_path_options(backends::cpu::supported_isas().back(), 2);
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
  const auto generic = testing::load(path_, two_path_options(Isa::kGeneric, 2));
  const std::vector<TokenId> ids = some_tokens(3, generic.model->config().vocab_size);
  const std::uint64_t wanted = hash_of(run_in_chunks(*generic.model, ids, 2, 8));
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    const std::string name(backends::cpu::isa_name(isa));
    if (!backends::cpu::choose_isa(name)) {
      testing::count_skipped("real model logits on " + name, 1, "this machine lacks " + name);
      continue;
    }
    const auto fast = testing::load(path_, two_path_options(isa, 2));
    EXPECT_EQ(hash_of(run_in_chunks(*fast.model, ids, 2, 8)), wanted) << name;
    testing::count_cases("real model logits on " + name, 1);
  }
}

TEST_F(RealModelTest, SevenNeighboursDoNotChangeABit) {
  const auto loaded = testing::load(path_, two_path_options(backends::cpu::supported_isas().back(), 2));
  const testing::NeighbourBits bits = testing::neighbour_bits(*loaded.model);
  EXPECT_EQ(bits.together, bits.alone);
}

}  // namespace
}  // namespace vitrine::models
