#include <gtest/gtest.h>

#include <string>

#include "support/long_run.h"
#include "support/reference_data.h"
#include "tokenizer/tokenizer_files.h"

// Bounds on the time of inputs that made other tokenizers quadratic; wide, for machines shared with others.
namespace vitrine::tokenizer {
namespace {

class LongRuns : public ::testing::TestWithParam<const char*> {};

TEST_P(LongRuns, AMebibyteOfOneCharacterIsEncodedAtOnce) {
  const Tokenizer* tokenizer = testing::shared_tokenizer(GetParam());
  if (tokenizer == nullptr) VT_SKIP_WITHOUT(GetParam());
  for (const std::string unit : {"A", ".", " ", "\xE6\x97\xA5", "\n", "ab", "0", "<"}) {
    std::string text;
    while (text.size() < (1 << 20))
      text += unit;
    const vitrine::testing::LongRun run;
    ASSERT_TRUE(tokenizer->encode(text, {}));
    EXPECT_LT(run.seconds(), run.kMostSeconds) << '"' << unit << '"';
  }
}

INSTANTIATE_TEST_SUITE_P(Published, LongRuns, ::testing::Values("smollm2", "gemma3", "llama3_1", "llama2"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace vitrine::tokenizer
