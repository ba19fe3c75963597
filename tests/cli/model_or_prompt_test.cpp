#include "vitrine/model_or_prompt.h"

#include <vector>

#include <gtest/gtest.h>

#include "vitrine/progress.h"
#include "vitrine/terminal.h"

namespace vitrine::cli {
namespace {

const std::vector<std::string> kNames = {"gemma-3-270m", "qwen3-0.6b"};

ModelAndPrompt sorted(const std::vector<std::string>& words, ModelAndPrompt flags = {}) {
  auto result = sort_positionals(words, std::move(flags), kNames);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : ModelAndPrompt{};
}

TEST(ModelOrPrompt, OneWordIsAModelIfItNamesOne) {
  EXPECT_EQ(sorted({"gemma-3-270m"}).model, "gemma-3-270m");
  EXPECT_EQ(sorted({"hf:org/repo"}).model, "hf:org/repo");
  EXPECT_EQ(sorted({"/dev/null"}).model, "/dev/null");
}

TEST(ModelOrPrompt, AnyOtherWordIsThePrompt) {
  for (const char* word : {"gemma", "Tell me a story", "", "/no/such/path", "HF:org/repo"}) {
    EXPECT_EQ(sorted({word}).prompt, word);
    EXPECT_FALSE(sorted({word}).model);
  }
  EXPECT_TRUE(sorted({std::string(1 << 20, 'x')}).prompt);
}

TEST(ModelOrPrompt, TwoWordsAreModelAndPrompt) {
  const ModelAndPrompt both = sorted({"anything", "gemma-3-270m"});
  EXPECT_EQ(both.model, "anything");
  EXPECT_EQ(both.prompt, "gemma-3-270m");
}

TEST(ModelOrPrompt, FlagsAreAlwaysClear) {
  EXPECT_EQ(sorted({"gemma-3-270m"}, {"other", std::nullopt}).prompt, "gemma-3-270m");
  EXPECT_EQ(sorted({"not a model"}, {std::nullopt, "hello"}).model, "not a model");
  EXPECT_FALSE(sorted({}).model);
}

TEST(ModelOrPrompt, TooMuchIsRefused) {
  EXPECT_FALSE(sort_positionals(std::vector<std::string>{"a", "b", "c"}, {}, kNames));
  EXPECT_FALSE(sort_positionals(std::vector<std::string>{"a", "b"}, {"m", std::nullopt}, kNames));
  EXPECT_FALSE(sort_positionals(std::vector<std::string>{"a", "b"}, {std::nullopt, "p"}, kNames));
  EXPECT_FALSE(sort_positionals(std::vector<std::string>{"a"}, {"m", "p"}, kNames));
}

TEST(Terminal, PrintableTextCantSteerATerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(printable("\xff\xed\xa0\x80"), "\\xff\\xed\\xa0\\x80");
  EXPECT_EQ(printable("h\xC3\xA9 \xF0\x9F\x98\x80"), "h\xC3\xA9 \xF0\x9F\x98\x80");
  EXPECT_EQ(printable("a\nb"), "a b");
}

TEST(Progress, LineShowsShareSpeedAndTimeLeft) {
  const std::string line = progress_line({"model", 25'000'000, 100'000'000, 5'000'000}, 100);
  EXPECT_EQ(line, "model  [######..................]   25 %  25 MB of 100 MB  5.0 MB/s  15 s left");
  EXPECT_LE(progress_line({"model", 25'000'000, 100'000'000, 5'000'000}, 20).size(), 19U);
  EXPECT_EQ(progress_line({"model", 1000, 0, 0}, 80), "model  1.0 kB");
}

TEST(Progress, DurationsReadAsPeopleSayThem) {
  EXPECT_EQ(format_duration(0.2), "1 s");
  EXPECT_EQ(format_duration(130), "2 min 10 s");
  EXPECT_EQ(format_duration(11'100), "3 h 5 min");
}

}  // namespace
}  // namespace vitrine::cli
