#include "vitrine/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "models/registry.h"
#include "support/reference_data.h"

namespace vitrine::cli {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kMiB = std::size_t{1} << 20U;

MemoryNeed some_need() {
  return {.weights = 100 * kMiB, .kv_per_block = kMiB, .buffers = 50 * kMiB};
}

models::ModelConfig config_of(std::size_t context_length) {
  models::ModelConfig config;
  config.context_length = context_length;
  return config;
}

base::Error refusal(const MemoryNeed& need, std::size_t context_length, std::size_t available_bytes) {
  RuntimeFlags flags;
  flags.context_length = context_length;
  try {
    choose_context(need, config_of(100'000), flags, available_bytes);
  } catch (const base::Exception& exception) {
    return exception.error();
  }
  ADD_FAILURE() << "not refused";
  return {};
}

TEST(MemoryPlan, TheModelsOwnContextIsCutToWhatMemoryHolds) {
  EXPECT_EQ(choose_context(some_need(), config_of(1600), {}, 250 * kMiB), 1600U);
  EXPECT_EQ(choose_context(some_need(), config_of(1600), {}, 200 * kMiB), 800U);
}

TEST(MemoryPlan, AContextThatWasAskedForIsRefusedWithTheLargestThatFits) {
  const base::Error error = refusal(some_need(), 1600, 200 * kMiB);
  EXPECT_EQ(error.kind, base::ErrorKind::kNoMemory);
  EXPECT_THAT(error.message, HasSubstr("--ctx 800 would fit"));
  EXPECT_THAT(error.message, HasSubstr("q8_0"));
}

TEST(MemoryPlan, AModelThatIsTooLargeItselfIsRefusedWithOneThatFits) {
  MemoryNeed need = some_need();
  need.weights = 10'000 * kMiB;
  const base::Error error = refusal(need, 16, 2'000 * kMiB);
  EXPECT_EQ(error.kind, base::ErrorKind::kNoMemory);
  EXPECT_THAT(error.message, HasSubstr("would fit"));
}

TEST(MemoryPlan, MoreThanTheModelsContextIsWrongUse) {
  EXPECT_EQ(refusal(some_need(), 100'001, 1'000'000 * kMiB).kind, base::ErrorKind::kUsage);
}

TEST(MemoryPlan, KvMemoryLimitsWhatTheCacheCounts) {
  MemoryNeed need = some_need();
  need.kv_limit = 10 * kMiB;
  EXPECT_EQ(need.total(16'000), 160 * kMiB);
}

// A mixture's rows take an answer per expert that a token uses, besides gate and up.
TEST(MemoryPlan, CountsTheBuffersOfDenseModelsAndOfMixtures) {
  for (const std::string name : {"llama", "mixtral", "qwen3_moe"}) {
    const auto bundle = tools::open_model(testing::data_path("models/" + name)).value_or_throw();
    backends::cpu::CpuBackend backend({});
    const auto model = models::load_model(bundle.files, backend).value_or_throw();
    const RuntimeFlags flags;
    const MemoryNeed need = memory_need(bundle, model->config(), tensor::DType::kF16, flags);
    const auto workspace = model->make_workspace(flags.max_chunk_tokens, 1);
    const std::size_t planned = need.buffers - (std::size_t{40} << 20U);
    EXPECT_GE(planned, workspace->activation_bytes()) << name;
    EXPECT_LE(planned, 2 * workspace->activation_bytes()) << name;
    EXPECT_GE(need.weights, model->weight_bytes() / 2) << name;
  }
}

}  // namespace
}  // namespace vitrine::cli
