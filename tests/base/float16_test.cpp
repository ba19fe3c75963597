#include "base/float16.h"

#include <gtest/gtest.h>
#include <cmath>

namespace vitrine::base {
namespace {

TEST(Float16, EveryFiniteValueSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 half{static_cast<std::uint16_t>(bits)};
    const float value = to_float(half);
    if (std::isnan(value)) continue;
    EXPECT_EQ(to_float16(value).bits, half.bits);
  }
}

TEST(Float16, AgreesWithTheCompilersConversionOnTies) {
  for (std::uint32_t bits = 0; bits < 0x8000; ++bits) {
    const float low = to_float(Float16{static_cast<std::uint16_t>(bits)});
    const float tie = std::nextafter(low, 1e9F) * 0.5F + low * 0.5F;
    if (std::isnan(tie)) continue;
    EXPECT_EQ(to_float16(tie).bits, std::bit_cast<std::uint16_t>(static_cast<_Float16>(tie)));
  }
}

TEST(BFloat16, RoundsToNearestEvenAndKeepsNan) {
  EXPECT_EQ(to_bfloat16(1.0F).bits, 0x3F80);
  EXPECT_EQ(to_bfloat16(std::bit_cast<float>(0x3F808000U)).bits, 0x3F80);
  EXPECT_EQ(to_bfloat16(std::bit_cast<float>(0x3F818000U)).bits, 0x3F82);
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(std::nanf("")))));
}

}  // namespace
}  // namespace vitrine::base
