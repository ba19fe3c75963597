#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <vector>

namespace vitrine::base {
namespace {

class ThreadPoolTest : public testing::TestWithParam<std::size_t> {};

TEST_P(ThreadPoolTest, EveryElementIsVisitedOnceWhateverTheGrain) {
  ThreadPool pool(GetParam());
  for (const std::size_t count : {0UL, 1UL, 7UL, 64UL, 1000UL}) {
    for (const std::size_t grain : {1UL, 3UL, 64UL, 2000UL}) {
      std::vector<int> visits(count);
      pool.for_range(count, grain, [&](std::size_t thread_idx, std::size_t begin, std::size_t end) {
        EXPECT_LT(thread_idx, pool.num_threads());
        EXPECT_LE(end - begin, pool.num_threads() > 1 ? grain : count);
        for (std::size_t i = begin; i < end; ++i)
          ++visits[i];
      });
      EXPECT_EQ(visits, std::vector<int>(count, 1)) << count << " by " << grain;
    }
  }
}

// What one range writes is what the next one reads, through plain memory: the sanitizer of threads watches.
TEST_P(ThreadPoolTest, ARangeSeesWhatTheOneBeforeWrote) {
  ThreadPool pool(GetParam());
  std::vector<std::size_t> values(100);
  constexpr std::size_t kRounds = 20000;
  for (std::size_t round = 0; round < kRounds; ++round) {
    pool.for_range(values.size(), 9, [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        values[i] += 1;
    });
  }
  EXPECT_EQ(values, std::vector<std::size_t>(100, kRounds));
}

TEST_P(ThreadPoolTest, NoTwoPiecesRunUnderOneThreadIndex) {
  ThreadPool pool(GetParam());
  std::vector<std::atomic<int>> inside(pool.num_threads());
  for (int round = 0; round < 200; ++round) {
    pool.for_range(64, 1, [&](std::size_t thread_idx, std::size_t, std::size_t) {
      EXPECT_EQ(inside[thread_idx].fetch_add(1), 0);
      inside[thread_idx].fetch_sub(1);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace vitrine::base
