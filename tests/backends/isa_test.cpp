#include "backends/cpu/isa.h"

#include <gtest/gtest.h>

namespace vitrine::backends::cpu {
namespace {

TEST(Isa, GenericIsAlwaysThereAndTheDefaultIsTheHighest) {
  EXPECT_EQ(supported_isas().front(), Isa::kGeneric);
  EXPECT_EQ(*choose_isa(""), supported_isas().back());
}

TEST(Isa, AnOverrideTakesEffectOrIsRefusedByName) {
  for (const Isa isa : {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx}) {
    const auto chosen = choose_isa(isa_name(isa));
    if (chosen) {
      EXPECT_EQ(*chosen, isa);
    } else {
      EXPECT_EQ(chosen.error().kind, base::ErrorKind::kUnavailable);
      EXPECT_NE(chosen.error().message.find(isa_name(isa)), std::string::npos);
    }
  }
}

TEST(Isa, AnUnknownNameIsAUsageErrorThatNamesTheRightOnes) {
  const auto chosen = choose_isa("avx1024");
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().kind, base::ErrorKind::kUsage);
  EXPECT_NE(chosen.error().message.find("avx512"), std::string::npos);
}

TEST(Isa, TheTableIsThatOfTheLevel) {
  EXPECT_STREQ(kernel_table(Isa::kGeneric).isa, "generic");
  EXPECT_STREQ(kernel_table(Isa::kAvx2).isa, "avx2");
  EXPECT_STREQ(kernel_table(Isa::kAvx512).isa, "avx512");
  EXPECT_STREQ(kernel_table(Isa::kAvx512Bf16).isa, "avx512bf16");
  EXPECT_STREQ(kernel_table(Isa::kAmx).isa, "amx");
}

}  // namespace
}  // namespace vitrine::backends::cpu
