#include "plan/kv_layout.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "kvcache/kv_cache.h"
#include "support/reference_data.h"

namespace vitrine::plan {
namespace {

using tensor::DType;

ModelShape shape_named(std::string_view name) {
  const ModelShape* shape = find_model_shape(name);
  EXPECT_NE(shape, nullptr) << name;
  return *shape;
}

// Which of our shapes the reference means by its name for it.
ModelShape shape_of_reference(const std::string& name) {
  const std::map<std::string, std::string> kNames = {
      {"Llama-2-7B", "llama-2-7b"},
      {"Llama-3.1-8B", "llama-3.1-8b"},
      {"Llama-3.1-70B", "llama-3.1-70b"},
      {"DeepSeek-V3 as MHA (128 heads, K 192 = 128 nope + 64 rope, V 128)", "deepseek-v3-mha"},
      {"DeepSeek-V3 as MHA (128 heads, K 128, V 128)", "deepseek-v3-mha"},
      {"DeepSeek-V3 MLA (latent 512 + rope 64, stored once)", "deepseek-v3"},
      {"Gemma-3-270M", "gemma-3-270m"},
      {"Gemma-3-270M without window saving", "gemma-3-270m"},
      {"SmolLM2-135M", "smollm2-135m"}};
  ModelShape shape = shape_named(kNames.at(name));
  if (name.find("K 128, V 128") != std::string::npos) shape.head_dim = 128;
  if (name.find("without window") != std::string::npos) shape.sliding_window = 0;
  return shape;
}

TEST(KvLayout, EqualsTheReferenceToTheByte) {
  const nlohmann::json reference = testing::read_json(testing::data_path("kv_math.json"));
  std::size_t num_cases = 0;
  for (const auto& model : reference.at("models")) {
    const KvLayout layout = kv_layout_of(shape_of_reference(model.at("model")));
    EXPECT_EQ(layout.row_elements(), model.at("elements_per_token_per_layer")) << model.at("model");
    for (const auto& [type, by_context] : model.at("bytes").items()) {
      const std::size_t row_bytes = kv_row_bytes(layout, tensor::find_dtype(type)->type).value_or_throw();
      EXPECT_EQ(row_bytes * layout.num_layers, model.at("bytes_per_token_all_layers").at(type));
      for (const auto& [context, bytes] : by_context.items()) {
        EXPECT_EQ(kv_bytes(layout, row_bytes, std::stoul(context)), bytes) << model.at("model") << type << context;
        ++num_cases;
      }
    }
  }
  EXPECT_EQ(num_cases, 81U);
}

// The cache itself and the forecast must not disagree about a block.
TEST(KvLayout, AllocatesBlocksOfTheCachesOwnSize) {
  for (const ModelShape& shape : model_shapes()) {
    if (!shape.is_computed()) continue;
    const KvLayout layout = kv_layout_of(shape);
    for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
      const std::size_t row_bytes = kv_row_bytes(layout, type).value_or_throw();
      const std::size_t block = kvcache::block_bytes({.num_layers = shape.num_layers,
                                                      .num_kv_heads = shape.num_kv_heads,
                                                      .head_dim = shape.head_dim,
                                                      .type = type})
                                    .value_or_throw();
      EXPECT_EQ(kv_allocated_bytes(layout, row_bytes, 1), block) << shape.name;
      EXPECT_EQ(kv_allocated_bytes(layout, row_bytes, 16), block) << shape.name;
      EXPECT_EQ(kv_allocated_bytes(layout, row_bytes, 17), 2 * block) << shape.name;
    }
  }
}

TEST(KvLayout, WindowedLayersKeepNoMoreThanTheirWindow) {
  const KvLayout layout = {
      .num_layers = 6, .num_window_layers = 5, .window = 100, .num_kv_heads = 1, .key_dim = 16, .value_dim = 16};
  EXPECT_EQ(kv_bytes(layout, 10, 100), 6000U);
  EXPECT_EQ(kv_bytes(layout, 10, 101), 6010U);
  EXPECT_EQ(kv_bytes(layout, 10, 1100), 10U * (1100 + 500));
}

TEST(KvLayout, EveryLayerOfAModelWithoutAPatternIsWindowed) {
  ModelShape shape = shape_named("mistral-7b");
  shape.sliding_window = 4096;
  shape.window_period = 0;
  EXPECT_EQ(kv_layout_of(shape).num_window_layers, 32U);
}

TEST(KvLayout, HeadsThatDoNotFillBlocksAreRefused) {
  const KvLayout layout = {.num_layers = 1, .num_kv_heads = 2, .key_dim = 80, .value_dim = 80};
  EXPECT_EQ(kv_row_bytes(layout, DType::kQ8_0).error().kind, base::ErrorKind::kUsage);
  EXPECT_EQ(kv_row_bytes(layout, DType::kF16).value_or_throw(), 640U);
}

}  // namespace
}  // namespace vitrine::plan
