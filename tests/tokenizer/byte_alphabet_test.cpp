#include "tokenizer/byte_alphabet.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace vitrine::tokenizer {
namespace {

TEST(ByteAlphabet, SpellsEveryByte) {
  std::string bytes;
  for (unsigned byte = 0; byte < 256; ++byte)
    bytes.push_back(static_cast<char>(byte));
  EXPECT_EQ(bytes_of_spelling(spelling_of_bytes(bytes)), bytes);
}

TEST(ByteAlphabet, RefusesWhatItDoesNotHold) {
  using namespace std::string_view_literals;
  const std::string_view foreign[] = {
      " "sv,           // is spelled as another character
      "a\u0144"sv,     // the first behind the alphabet
      "\u4E2D"sv,      // three bytes
      "\U0001F600"sv,  // four bytes
      "\xC1\x81"sv,    // "A" in two bytes
      "a\xC4"sv,       // cut off
      "\xC4z"sv,       // not continued
      "\xA0"sv,        // begun by a continuation
  };
  for (const std::string_view spelling : foreign) {
    std::string bytes = "before";
    EXPECT_FALSE(append_bytes_of_spelling(spelling, bytes)) << ::testing::PrintToString(spelling);
    EXPECT_EQ(bytes, "before");
  }
}

}  // namespace
}  // namespace vitrine::tokenizer
