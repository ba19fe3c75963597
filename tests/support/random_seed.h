#pragma once

#include <cstdint>

#include <gtest/gtest.h>

namespace vitrine::testing {

// What a test that draws its inputs begins with. The same in every run, so that a failure comes again; with
// --gtest_shuffle another one each time, which Google Test prints and --gtest_random_seed repeats.
inline std::uint32_t random_seed() {
  const bool is_shuffled = GTEST_FLAG_GET(shuffle);
  return static_cast<std::uint32_t>(is_shuffled ? ::testing::UnitTest::GetInstance()->random_seed()
                                                : GTEST_FLAG_GET(random_seed));
}

}  // namespace vitrine::testing
