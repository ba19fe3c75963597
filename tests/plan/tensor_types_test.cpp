#include "plan/tensor_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vitrine::plan {
namespace {

using tensor::DType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorTypes types(std::string_view name) {
  return TensorTypes::parse(name).value_or_throw();
}

DType type_of(const TensorTypes& mix, std::string_view part, std::size_t layer_idx, std::size_t num_columns = 1024) {
  return mix.of({.part = part, .layer_idx = layer_idx, .num_layers = 28, .num_columns = num_columns});
}

// The layers that a 28-layer model keeps finer: the first three, the last four, each third between.
TEST(TensorTypes, TheMediumMixIsFinerInHalfOfTheLayers) {
  const TensorTypes mix = types("Q4_K_M");
  std::vector<std::size_t> fine;
  for (std::size_t layer_idx = 0; layer_idx < 28; ++layer_idx) {
    EXPECT_EQ(type_of(mix, "ffn_down", layer_idx), type_of(mix, "attn_v", layer_idx));
    EXPECT_EQ(type_of(mix, "attn_q", layer_idx), DType::kQ4_K);
    if (type_of(mix, "ffn_down", layer_idx) == DType::kQ6_K) fine.push_back(layer_idx);
  }
  EXPECT_THAT(fine, ElementsAre(0, 1, 2, 5, 8, 11, 14, 17, 20, 23, 24, 25, 26, 27));
  EXPECT_EQ(mix.of({.part = "output", .is_head = true, .num_columns = 1024}), DType::kQ6_K);
  EXPECT_EQ(mix.of({.part = "token_embd", .num_columns = 1024}), DType::kQ4_K);
}

TEST(TensorTypes, RowsThatDoNotFillLargeBlocksTakeSmallOnes) {
  EXPECT_EQ(type_of(types("q4_k_m"), "attn_q", 0, 576), DType::kQ5_0);
  EXPECT_EQ(type_of(types("q4_k_m"), "attn_v", 0, 576), DType::kQ8_0);
  EXPECT_EQ(type_of(types("q4_0"), "attn_v", 0, 576), DType::kQ4_0);
  EXPECT_EQ(type_of(types("q8_0"), "attn_v", 0, 24), DType::kF16);
}

TEST(TensorTypes, AttentionBesideEightExpertsIsFiner) {
  const TensorTypes mix = types("q4_k_m");
  const auto of = [&](std::string_view part) {
    return mix.of({.part = part, .layer_idx = 4, .num_layers = 32, .num_experts = 8, .num_columns = 4096});
  };
  EXPECT_EQ(of("attn_v"), DType::kQ8_0);
  EXPECT_EQ(of("attn_k"), DType::kQ8_0);
  EXPECT_EQ(of("attn_output"), DType::kQ5_K);
  EXPECT_EQ(of("ffn_gate_exps"), DType::kQ4_K);
}

TEST(TensorTypes, AnUnknownTypeIsToldTheKnownOnes) {
  for (const char* name : {"q4_k_x", "iq1_s", "i32", "q8_k"}) {
    const auto parsed = TensorTypes::parse(name);
    ASSERT_FALSE(parsed) << name;
    EXPECT_THAT(parsed.error().message, HasSubstr("q4_k_m, "));
  }
}

}  // namespace
}  // namespace vitrine::plan
