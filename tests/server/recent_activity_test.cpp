#include "server/recent_activity.h"

#include <gtest/gtest.h>

namespace vitrine::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = RecentActivity::Clock;

// The beginning of a second, far from the clock's own beginning.
const Clock::time_point kNow{seconds(1000)};

TEST(RecentActivity, ASecondHasWhatFellIntoIt) {
  RecentActivity activity;
  activity.add_first_token(kNow - milliseconds(1500), 0.5);
  activity.add_tokens(kNow - milliseconds(1500), 1);
  for (int i = 1; i <= 99; ++i)
    activity.add_gap(kNow - milliseconds(500), 0.001 * i);
  activity.add_tokens(kNow - milliseconds(500), 99);
  const auto all = activity.seconds(kNow);
  ASSERT_EQ(all.size(), RecentActivity::kNumSeconds);
  EXPECT_EQ(all[118].num_tokens, 1U);
  EXPECT_DOUBLE_EQ(all[118].ttft->p50_s, 0.5);
  EXPECT_FALSE(all[118].itl);
  EXPECT_EQ(all[119].num_tokens, 99U);
  EXPECT_DOUBLE_EQ(all[119].itl->p50_s, 0.050);
  EXPECT_DOUBLE_EQ(all[119].itl->p99_s, 0.098);
  EXPECT_EQ(activity.whole(kNow).num_tokens, 100U);
}

TEST(RecentActivity, TheSecondThatHasBegunCountsInTheWholeAlone) {
  RecentActivity activity;
  activity.add_tokens(kNow + milliseconds(200), 7);
  EXPECT_EQ(activity.seconds(kNow + milliseconds(300)).back().num_tokens, 0U);
  EXPECT_EQ(activity.whole(kNow + milliseconds(300)).num_tokens, 7U);
}

TEST(RecentActivity, WhatIsOldIsForgotten) {
  RecentActivity activity;
  activity.add_tokens(kNow, 5);
  EXPECT_EQ(activity.whole(kNow + seconds(120)).num_tokens, 5U);
  EXPECT_EQ(activity.whole(kNow + seconds(122)).num_tokens, 0U);
  activity.add_tokens(kNow + seconds(121), 3);  // takes the place of the first
  activity.add_tokens(kNow, 5);                 // too late
  EXPECT_EQ(activity.whole(kNow + seconds(122)).num_tokens, 3U);
}

TEST(RecentActivity, ASecondKeepsABoundedNumberOfSamples) {
  RecentActivity activity;
  for (std::size_t i = 0; i < 2 * RecentActivity::kMaxSamples; ++i)
    activity.add_gap(kNow - seconds(1), i < RecentActivity::kMaxSamples ? 1.0 : 2.0);
  EXPECT_DOUBLE_EQ(activity.whole(kNow).itl->p99_s, 1.0);
}

}  // namespace
}  // namespace vitrine::server
