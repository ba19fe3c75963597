#include "base/hex.h"

#include <gtest/gtest.h>

namespace vitrine::base {
namespace {

TEST(Hex, WritesTwoDigitsAByte) {
  EXPECT_EQ(to_hex(""), "");
  EXPECT_EQ(to_hex(std::string_view("\x00\x0a\xff K", 5)), "000aff204b");
}

}  // namespace
}  // namespace vitrine::base
