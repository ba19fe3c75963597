#include "base/base64.h"

#include <gtest/gtest.h>

namespace vitrine::base {
namespace {

TEST(Base64, DecodesTheVectorsOfTheRfc) {
  for (const auto& [text, bytes] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", ""}, {"Zg==", "f"}, {"Zm8=", "fo"}, {"Zm9v", "foo"}, {"Zm9vYmFy", "foobar"}}) {
    EXPECT_EQ(decode_base64(text), bytes) << text;
  }
  EXPECT_EQ(decode_base64("/+8="), "\xFF\xEF");
}

TEST(Base64, EncodesThem) {
  for (const auto& [text, bytes] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", ""}, {"Zg==", "f"}, {"Zm8=", "fo"}, {"Zm9v", "foo"}, {"Zm9vYmFy", "foobar"}, {"/+8=", "\xFF\xEF"}}) {
    EXPECT_EQ(encode_base64(bytes), text);
  }
  EXPECT_EQ(encode_base64(std::string(1, '\0')), "AA==");
}

TEST(Base64, RefusesWhatIsNotTheOneSpelling) {
  for (const char* const text : {"Zg=", "Zg", "Zg===", "Z===", "Zh==", "Zm9=", "Zm 9", "Zm9-", "====", "Zg==Zg=="})
    EXPECT_FALSE(decode_base64(text)) << text;
}

}  // namespace
}  // namespace vitrine::base
