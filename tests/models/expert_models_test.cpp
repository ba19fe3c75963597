// Mixtures of experts: GGUF files of them, the bits of their rows, and what a broken file is refused with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/gguf_copy.h"
#include "models/row_bits.h"
#include "support/gguf_writer.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"

namespace vitrine::models {
namespace {

using backends::cpu::Isa;
using ::testing::FloatNear;
using testing::hash_of;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using testing::run_in_chunks;
using testing::some_tokens;
using testing::two_path_options;

// Norm weights and rotary tables are the same; only the order of some sums differs.
constexpr float kTolerance = 2e-5F;

class ExpertModelTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path source() const { return testing::data_path("models/" + GetParam()); }
  std::filesystem::path gguf(const testing::GgufCopyOptions& options = {}) const {
    const std::filesystem::path path = folder_.path() / "model.gguf";
    testing::write_gguf_copy(source(), path, options);
    return path;
  }
  std::string refusal(const testing::GgufCopyOptions& options) const {
    const auto files = loader::open_model_files(gguf(options)).value_or_throw();
    backends::cpu::CpuBackend backend({});
    const auto model = load_model(files, backend);
    return model ? "" : model.error().message;
  }

 private:
  testing::TempDir folder_;
};

// In float32 throughout.
std::vector<float> reference_logits(const std::filesystem::path& path) {
  const auto loaded = testing::load(path, testing::reference_options());
  testing::SequenceRunner runner(*loaded.model, 64, 64);
  return runner.append(some_tokens(30, loaded.model->config().vocab_size));
}

TEST_P(ExpertModelTest, AGgufFileGivesTheLogitsOfTheFolder) {
  const std::vector<float> wanted = reference_logits(source());
  EXPECT_THAT(reference_logits(gguf()), Pointwise(FloatNear(kTolerance), wanted));
  EXPECT_THAT(reference_logits(gguf({.stack_experts = false})), Pointwise(FloatNear(kTolerance), wanted));
}

TEST_P(ExpertModelTest, ChunkSizesThreadsAndInstructionSetsDoNotChangeABit) {
  const auto path = gguf({.matrix_type = tensor::DType::kQ8_0});
  const std::vector<TokenId> ids = some_tokens(90, 320);
  const auto generic = testing::load(path, two_path_options(Isa::kGeneric, 1));
  const std::uint64_t whole = hash_of(run_in_chunks(*generic.model, ids, 70, 512));
  for (const Isa isa : backends::cpu::supported_isas()) {
    if (isa == Isa::kGeneric) continue;
    for (const std::size_t num_threads : {1U, 2U}) {
      const auto loaded = testing::load(path, two_path_options(isa, num_threads));
      for (const std::size_t chunk : {1U, 7U, 64U, 512U}) {
        EXPECT_EQ(hash_of(run_in_chunks(*loaded.model, ids, 70, chunk)), whole)
            << backends::cpu::isa_name(isa) << ", " << num_threads << " threads, chunk " << chunk;
      }
    }
  }
}

TEST_P(ExpertModelTest, SevenNeighboursDoNotChangeABit) {
  for (const auto type : {tensor::DType::kF32, tensor::DType::kQ4_0}) {
    const auto loaded = testing::load(gguf({.matrix_type = type}), two_path_options(Isa::kAvx2, 2));
    const testing::NeighbourBits bits = testing::neighbour_bits(*loaded.model);
    EXPECT_EQ(bits.together, bits.alone);
  }
}

TEST_P(ExpertModelTest, AMissingTensorIsNamed) {
  for (const std::string name : {"blk.1.ffn_gate_inp.weight", "blk.1.ffn_up_exps.weight", "blk.2.ffn_down_exps.weight"})
    EXPECT_THAT(refusal({.leave_out = {name}}), HasSubstr("tensor " + name + " is missing"));
  EXPECT_THAT(refusal({.stack_experts = false, .leave_out = {"blk.1.ffn_up.5.weight"}}),
              HasSubstr("tensor blk.1.ffn_up.5.weight is missing"));
}

INSTANTIATE_TEST_SUITE_P(Families, ExpertModelTest, ::testing::Values("mixtral", "qwen3_moe"),
                         [](const auto& test) { return test.param; });

TEST(DenseModels, AGgufFileGivesTheLogitsOfTheFolder) {
  const testing::TempDir folder;
  const auto path = folder.path() / "model.gguf";
  for (const std::string name : {"qwen3", "llama"}) {
    const auto source = testing::data_path("models/" + name);
    testing::write_gguf_copy(source, path);
    EXPECT_THAT(reference_logits(path), Pointwise(FloatNear(kTolerance), reference_logits(source))) << name;
  }
}

// The metadata of a mixture, and what reading it gives.
base::Result<ModelConfig> configure(const std::function<void(testing::GgufWriter&)>& add) {
  testing::TempDir folder;
  testing::GgufWriter writer;
  writer.add("general.architecture", "llama").add("llama.context_length", 64U).add("llama.block_count", 1U);
  writer.add("llama.embedding_length", 64U).add("llama.feed_forward_length", 32U);
  writer.add("llama.attention.head_count", 2U).add("llama.expert_count", 4U);
  add(writer);
  writer.add_tensor("token_embd.weight", {2, 64}, std::vector<float>(128));
  writer.write(folder.path() / "model.gguf");
  return read_model_config(loader::open_model_files(folder.path() / "model.gguf").value_or_throw());
}

TEST(ExpertMetadata, SaysHowManyAndHowWide) {
  const auto config = configure([](testing::GgufWriter& writer) {
    writer.add("llama.expert_used_count", 2U).add("llama.expert_feed_forward_length", 48U);
    writer.add("llama.expert_weights_norm", false).add("llama.expert_gating_func", 1U);
  });
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->experts.num_experts, 4U);
  EXPECT_EQ(config->experts.num_used, 2U);
  EXPECT_EQ(config->experts.intermediate_size, 48U);
  EXPECT_FALSE(config->experts.normalize_weights);
}

TEST(ExpertMetadata, WhatIsNotComputedIsRefused) {
  const auto refused = [](const char* key, std::uint32_t value) {
    const auto config = configure([&](testing::GgufWriter& writer) {
      if (std::string(key) != "llama.expert_used_count") writer.add("llama.expert_used_count", 2U);
      writer.add(key, value);
    });
    return config ? "" : config.error().message;
  };
  EXPECT_THAT(refused("llama.expert_shared_count", 1), HasSubstr("expert_shared_count: shared experts"));
  EXPECT_THAT(refused("llama.expert_gating_func", 2), HasSubstr("routers other than softmax"));
  EXPECT_THAT(refused("llama.expert_group_count", 8), HasSubstr("groups of experts"));
  EXPECT_THAT(refused("llama.leading_dense_block_count", 1), HasSubstr("dense layers"));
  EXPECT_THAT(refused("llama.expert_used_count", 5), HasSubstr("llama.expert_used_count"));
}

TEST(ExpertMetadata, OtherFamiliesOfMixturesAreRefusedByName) {
  for (const std::string type : {"qwen2_moe", "deepseek_v3"}) {
    auto files = loader::open_model_files(testing::data_path("models/qwen3_moe")).value_or_throw();
    std::get<loader::HfModel>(files).config["model_type"] = type;
    const auto config = read_model_config(files);
    ASSERT_FALSE(config);
    EXPECT_THAT(config.error().message, HasSubstr("architecture " + type + " is not supported"));
  }
}

TEST(ExpertMetadata, DenseLayersAmongTheSparseAreRefused) {
  auto files = loader::open_model_files(testing::data_path("models/qwen3_moe")).value_or_throw();
  std::get<loader::HfModel>(files).config["mlp_only_layers"] = {0};
  const auto config = read_model_config(files);
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message, HasSubstr("mlp_only_layers"));
}

}  // namespace
}  // namespace vitrine::models
