#include <map>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/api_key.h"
#include "support/random_seed.h"

namespace vitrine::store {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  const auto key = parse_api_key(text);
  return key ? "taken" : key.error().message;
}

TEST(ApiKey, IsReadBackAsItWasWritten) {
  for (int i = 0; i < 100; ++i) {
    const ApiKey key = make_api_key(make_key_id());
    const std::string text = key.text();
    EXPECT_THAT(text, ::testing::MatchesRegex("sk-[0-9a-z]{8}-[0-9A-Za-z]{43}-[0-9A-Za-z]{4}"));
    EXPECT_TRUE(text.ends_with(key.last_characters()));
    const auto read = parse_api_key(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->id, key.id);
    EXPECT_EQ(read->secret, key.secret);
  }
}

TEST(ApiKey, EveryCharacterOfASecretIsUsedAlike) {
  std::map<char, int> counts;
  constexpr int kNumKeys = 2000;
  for (int i = 0; i < kNumKeys; ++i) {
    for (const char c : make_api_key("aaaaaaaa").secret)
      ++counts[c];
  }
  EXPECT_EQ(counts.size(), 62U);
  const double expected = kNumKeys * 43.0 / 62.0;  // 1387, with a standard deviation of 37
  for (const auto& [c, count] : counts)
    EXPECT_NEAR(count, expected, 7 * 37) << c;
}

TEST(ApiKey, ARefusalSaysWhatIsWrongAndRepeatsNothing) {
  const std::string text = make_api_key(make_key_id()).text();
  EXPECT_EQ(refusal(""), "it is empty");
  EXPECT_EQ(refusal("\"" + text + "\""), "it has quotes in it");
  EXPECT_EQ(refusal("' OR '1'='1"), "it has quotes in it");
  EXPECT_EQ(refusal(text.substr(0, 20) + " " + text.substr(20)), "it has a space in it");
  EXPECT_EQ(refusal(text + "\n"), "it has a character in it that no key has");
  EXPECT_EQ(refusal("sk-\xE2\x80\x9C"), "it has a character in it that no key has");
  EXPECT_EQ(refusal("EMPTY"), "it does not begin with sk-");
  EXPECT_EQ(refusal(text.substr(0, 59)), "it is 59 characters long; a key of this server has 60");
  EXPECT_EQ(refusal("sk-proj-0123"), "it is 12 characters long; a key of this server has 60");
  std::string upper = text;
  upper[4] = 'Z';
  EXPECT_THAT(refusal(upper), HasSubstr("checksum"));
}

TEST(ApiKey, OneChangedCharacterIsNoticed) {
  const unsigned seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  int num_taken = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = make_api_key(make_key_id()).text();
    char& c = text[random() % text.size()];
    c = c == 'x' ? 'y' : 'x';
    num_taken += parse_api_key(text) ? 1 : 0;
  }
  EXPECT_LE(num_taken, 1) << "four characters let one in 14 million pass";
}

}  // namespace
}  // namespace vitrine::store
