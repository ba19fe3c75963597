#include "trace/latency.h"

#include <vector>

#include <gtest/gtest.h>

namespace vitrine::trace {
namespace {

TEST(Percentile, InterpolatesBetweenTheNearestRanks) {
  const std::vector<double> values = {40, 10, 30, 20};
  EXPECT_EQ(percentile(values, 0.0), 10.0);
  EXPECT_EQ(percentile(values, 0.5), 25.0);
  EXPECT_EQ(percentile(values, 1.0), 40.0);
  EXPECT_NEAR(*percentile(values, 0.99), 39.7, 1e-12);
  EXPECT_EQ(percentile(std::vector<double>{7}, 0.99), 7.0);
  EXPECT_FALSE(percentile({}, 0.5));
}

TEST(Latency, IsTakenFromTokenTimes) {
  const LatencySummary summary = summarise_latency(1.0, std::vector<double>{1.5, 1.75, 2.0, 2.75});
  EXPECT_EQ(summary.ttft_s, 0.5);
  EXPECT_EQ(summary.itl_p50_s, 0.25);
  EXPECT_NEAR(*summary.itl_p99_s, 0.74, 1e-12);
  EXPECT_NEAR(*summary.tpot_s, 1.25 / 3, 1e-12);
}

TEST(Latency, WhatNeedsMoreTokensIsAbsent) {
  EXPECT_FALSE(summarise_latency(0.0, {}).ttft_s);
  const LatencySummary one = summarise_latency(0.0, std::vector<double>{2.0});
  EXPECT_EQ(one.ttft_s, 2.0);
  EXPECT_FALSE(one.itl_p50_s);
  EXPECT_FALSE(one.tpot_s);
}

}  // namespace
}  // namespace vitrine::trace
