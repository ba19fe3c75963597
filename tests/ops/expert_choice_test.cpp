#include "ops/expert_choice.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vitrine::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

ExpertChoices choose(std::vector<float> logits, std::size_t num_experts, const ExpertRouting& routing) {
  ExpertChoices choices;
  choose_experts({logits.data(), logits.size() / num_experts, num_experts}, routing, choices);
  return choices;
}

TEST(ChooseExperts, TakesTheLargestLogitsBestFirst) {
  const ExpertChoices choices = choose({0.5F, -1.0F, 2.0F, 1.0F, 3.0F, 0.0F, 1.0F, 2.0F}, 4, {.num_chosen = 2});
  EXPECT_THAT(choices.experts, ElementsAre(2, 3, 0, 3));
  EXPECT_EQ(choices.num_experts, 4U);
}

TEST(ChooseExperts, TheLowerIndexWinsATie) {
  EXPECT_THAT(choose({1.0F, 3.0F, 3.0F, 1.0F, 3.0F}, 5, {.num_chosen = 4}).experts, ElementsAre(1, 2, 4, 0));
}

TEST(ChooseExperts, NormalizedWeightsAreASoftmaxOverTheChosen) {
  const ExpertChoices choices = choose({0.0F, std::log(3.0F), 9.0F - 20.0F}, 3, {.num_chosen = 2, .normalize = true});
  EXPECT_THAT(choices.weights, ElementsAre(FloatEq(0.75F), FloatEq(0.25F)));
}

TEST(ChooseExperts, OtherWeightsAreTheShareAmongAllExperts) {
  const ExpertChoices choices =
      choose({0.0F, std::log(2.0F), std::log(5.0F)}, 3, {.num_chosen = 2, .normalize = false});
  EXPECT_THAT(choices.weights, ElementsAre(FloatEq(5.0F / 8.0F), FloatEq(2.0F / 8.0F)));
}

TEST(ChooseExperts, ARowOfNaNStillNamesDifferentExperts) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const ExpertChoices choices = choose({nan, nan, nan}, 3, {.num_chosen = 2});
  EXPECT_THAT(choices.experts, ElementsAre(0, 1));
  EXPECT_TRUE(std::isnan(choices.weights[0]));
}

}  // namespace
}  // namespace vitrine::ops
