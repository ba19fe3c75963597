#include "base/suggest.h"

#include <vector>

#include <gtest/gtest.h>

namespace vitrine::base {
namespace {

TEST(Suggest, DistanceCountsTypedMistakes) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", "abc"), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("lsit", "list"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Suggest, TheNearestWordWins) {
  const std::vector<std::string> words = {"pull", "list", "show", "completion"};
  EXPECT_EQ(nearest("lst", words), "list");
  EXPECT_EQ(nearest("pul", words), "pull");
  EXPECT_EQ(nearest("comp", words), "completion");
  EXPECT_EQ(nearest("zzzzzz", words), std::nullopt);
  EXPECT_EQ(nearest("", words), std::nullopt);
}

TEST(Suggest, AHugeWordCostsNothing) {
  const std::vector<std::string> words = {"pull", "list"};
  EXPECT_EQ(nearest(std::string(1 << 20, 'x'), words), std::nullopt);
}

}  // namespace
}  // namespace vitrine::base
