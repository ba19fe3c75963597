#include "sampling/philox.h"

#include <gtest/gtest.h>

namespace vitrine::sampling {
namespace {

// The known answers published with the paper's library (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, GivesTheKnownAnswersOfThePaper) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformsLieInTheUnitIntervalAndDifferByStepAndSeed) {
  double sum = 0;
  for (std::uint64_t step = 0; step < 1000; ++step) {
    const StepUniforms uniforms = step_uniforms(42, step);
    ASSERT_GE(uniforms.token, 0.0);
    ASSERT_LT(uniforms.token, 1.0);
    ASSERT_NE(uniforms.token, uniforms.xtc);
    ASSERT_NE(uniforms.token, step_uniforms(43, step).token);
    sum += uniforms.token;
  }
  EXPECT_NEAR(sum / 1000, 0.5, 0.03);
}

TEST(Philox, UsesEveryBitOfSeedAndStep) {
  const double base = step_uniforms(0, 0).token;
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_NE(step_uniforms(std::uint64_t{1} << bit, 0).token, base) << bit;
    EXPECT_NE(step_uniforms(0, std::uint64_t{1} << bit).token, base) << bit;
  }
}

}  // namespace
}  // namespace vitrine::sampling
