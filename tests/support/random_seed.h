#pragma once

#include <cstdint>

#include <gtest/gtest.h>

namespace vitrine::testing {

// What a test that draws its inputs begins with. The same in every run, so that a failure comes again; with
// --gtest_shuffle another one each time, which Google Test prints and --gtest_random_seed repeats.
inline std::uint32_t random_seed() {
  return static_cast<std::uint32_t>(::testing::UnitTest::GetInstance()->random_seed());
}

}  // namespace vitrine::testing
