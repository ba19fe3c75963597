#include "vitrine/serve_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/reference_data.h"

namespace vitrine::cli {
namespace {

using ::testing::ElementsAre;

TEST(ServePlan, AModelAloneGetsAllMemory) {
  EXPECT_THAT(share_memory({{.fixed_bytes = 10, .useful_bytes = 20}}, 100), ElementsAre(100));
}

TEST(ServePlan, ModelsThatHaveRoomTogetherShareWhatTheirWeightsLeave) {
  EXPECT_THAT(share_memory({{.fixed_bytes = 10, .useful_bytes = 20}, {.fixed_bytes = 40, .useful_bytes = 60}}, 100),
              ElementsAre(35, 65));
}

TEST(ServePlan, ModelsThatHaveNoRoomTogetherTakeTurns) {
  EXPECT_THAT(share_memory({{.fixed_bytes = 50, .useful_bytes = 60}, {.fixed_bytes = 70, .useful_bytes = 80}}, 100),
              ElementsAre(100, 100));
}

TEST(ServePlan, APinnedModelLeavesRoomForTheLargestOfTheOthers) {
  EXPECT_THAT(share_memory({{.fixed_bytes = 20, .useful_bytes = 30},
                            {.fixed_bytes = 10, .useful_bytes = 20, .is_pinned = true},
                            {.fixed_bytes = 80, .useful_bytes = 90}},
                           100),
              ElementsAre(85, 15, 85));
}

TEST(ServePlan, ContextAndMemoryFollowFromTheFiles) {
  std::vector<PlannedModel> models = {{.name = "a", .path = testing::data_path("models/llama")},
                                      {.name = "b", .path = testing::data_path("models/qwen3_moe")}};
  models[0].flags.max_sequences = 2;
  models[1].flags.max_sequences = 3;
  plan_models(models, std::size_t{1} << 30U);
  EXPECT_EQ(models[0].flags.max_sequences, 2U);
  EXPECT_EQ(models[1].flags.max_sequences, 3U);
  for (const PlannedModel& model : models) {
    EXPECT_GT(model.context_length, 0U);
    EXPECT_LE(model.bytes, model.flags.memory_bytes);
  }
  EXPECT_LE(models[0].flags.memory_bytes + models[1].flags.memory_bytes, std::size_t{1} << 30U);
}

}  // namespace
}  // namespace vitrine::cli
