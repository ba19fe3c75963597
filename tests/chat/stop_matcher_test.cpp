#include "chat/stop_matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/random_seed.h"
#include "support/reference_data.h"

namespace vitrine::chat {
namespace {

using ::testing::ElementsAre;

// What goes out after each piece; the last entry is the rest, unless a stop string was found.
std::vector<std::string> deltas_of(const std::vector<std::string>& pieces, const std::vector<std::string>& stops) {
  StopMatcher matcher = *StopMatcher::create(stops);
  std::vector<std::string> deltas;
  for (const std::string& piece : pieces) {
    deltas.push_back(matcher.feed(piece));
    if (matcher.stopped()) return deltas;
  }
  deltas.push_back(matcher.finish());
  return deltas;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces)
    text += piece;
  return text;
}

// The definition: the whole text, cut where the first stop string begins.
std::string cut_at_first_stop(const std::string& text, const std::vector<std::string>& stops) {
  std::size_t first = text.size();
  for (const std::string& stop : stops)
    first = std::min(first, text.find(stop));
  return text.substr(0, first);
}

TEST(StopMatcher, Bug020HoldsALongStopStringOverSeveralTokens) {
  EXPECT_THAT(deltas_of({"Thought: x", "\n", "Obs", "erv", "ation", ":", " y"}, {"\nObservation:"}),
              ElementsAre("Thought: x", "", "", "", "", ""));
}

TEST(StopMatcher, Bug022SendsThePartBeforeAStopStringInTheSameToken) {
  EXPECT_THAT(deltas_of({"sky on Mars", "?\n"}, {"\n"}), ElementsAre("sky on Mars", "?"));
}

TEST(StopMatcher, Bug024TakesTheEarlierOfTwoStopStrings) {
  EXPECT_THAT(deltas_of({"a", ",b", ",c", ",d"}, {",d", "b,c"}), ElementsAre("a", ",", ""));
}

TEST(StopMatcher, Bug026SendsAPieceThatOccursInsideAStopStringAtOnce) {
  EXPECT_THAT(deltas_of({"ple", "as"}, {"<|eot_id|>assistant"}), ElementsAre("ple", "as", ""));
}

TEST(StopMatcher, AnEarlierLongerMatchWinsOverALaterOneThatEndsFirst) {
  EXPECT_EQ(joined(deltas_of({"xab", "cd", "e"}, {"bc", "abcd"})), "x");
  EXPECT_EQ(joined(deltas_of({"xab", "ce", "e"}, {"bc", "abcd"})), "xa");
  EXPECT_EQ(joined(deltas_of({"xabc"}, {"bc", "abcd"})), "xa");
}

TEST(StopMatcher, NamesTheStopStringItFound) {
  StopMatcher matcher = *StopMatcher::create({"x", "yz"});
  EXPECT_EQ(matcher.feed("ayzb"), "a");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.stop_idx(), 1U);
  EXPECT_EQ(matcher.feed("more"), "");
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopMatcher, RefusesEmptyLongAndTooManyStopStrings) {
  EXPECT_FALSE(StopMatcher::create({""}));
  EXPECT_FALSE(StopMatcher::create({std::string(257, 'a')}));
  EXPECT_FALSE(StopMatcher::create(std::vector<std::string>(17, "a")));
  EXPECT_TRUE(StopMatcher::create({}));
}

TEST(StopMatcher, EveryWayToCutATextGivesTheSameAnswer) {
  const unsigned seed = testing::random_seed();
  std::mt19937 random(seed);
  const auto random_text = [&random](std::size_t max_size) {
    std::string text(random() % max_size + 1, 'a');
    for (char& letter : text)
      letter = static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    const std::string text = random_text(24);
    const std::vector<std::string> stops{random_text(5), random_text(5), random_text(3)};
    std::vector<std::string> pieces;
    for (std::size_t start = 0; start < text.size();) {
      pieces.push_back(text.substr(start, random() % 4 + 1));
      start += pieces.back().size();
    }
    ASSERT_EQ(joined(deltas_of(pieces, stops)), cut_at_first_stop(text, stops)) << "seed " << seed << ", text " << text;
  }
}

TEST(StopMatcher, IsLinearInARepetitiveText) {
  StopMatcher matcher = *StopMatcher::create({std::string(255, 'a') + "b"});
  std::size_t num_sent = 0;
  for (int piece = 0; piece < 1000; ++piece)
    num_sent += matcher.feed(std::string(1000, 'a')).size();
  EXPECT_EQ(num_sent, 1'000'000U - 255U);
}

}  // namespace
}  // namespace vitrine::chat
