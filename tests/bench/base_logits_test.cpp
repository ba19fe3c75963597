#include "bench/base_logits.h"

#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace vitrine::bench {
namespace {

template <typename T>
void put(std::string& file, T value) {
  file.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

constexpr std::uint32_t kChunkTokens = 6;
constexpr std::uint32_t kVocabSize = 3;  // a row has room for four
constexpr std::uint32_t kNumChunks = 2;

// Two chunks of tokens 0 ... 5 and 6 ... 11; the codes of scored row r are 10 r, 10 r + 1, 10 r + 2.
std::string small_file() {
  std::string file = "_logits_";
  for (const std::uint32_t size : {kChunkTokens, kVocabSize, kNumChunks})
    put(file, size);
  for (std::int32_t i = 0; i < 12; ++i)
    put(file, i);
  for (std::uint16_t row = 0; row < 4; ++row) {
    put(file, 0.5F);
    put(file, -8.0F);
    for (std::uint16_t id = 0; id < 4; ++id)
      put(file, static_cast<std::uint16_t>(10 * row + id));
  }
  return file;
}

TEST(BaseLogits, GivesTheTokensAndTheDistributionsOfEachChunk) {
  const testing::TempDir directory;
  const BaseLogits base(directory.write("base", small_file()).string());
  EXPECT_EQ(base.chunk_tokens(), kChunkTokens);
  EXPECT_EQ(base.vocab_size(), kVocabSize);
  EXPECT_EQ(base.num_chunks(), kNumChunks);
  EXPECT_THAT(base.chunk(1), ::testing::ElementsAre(6, 7, 8, 9, 10, 11));
  // Tokens 3 and 4 of each chunk are scored by 4 and 5.
  EXPECT_EQ(base.first_scored(), 3U);
  EXPECT_EQ(base.num_scored(), 2U);
  const BaseLogits::Row row = base.row(1, 1);
  EXPECT_THAT(row.codes, ::testing::ElementsAre(30, 31, 32));
  EXPECT_DOUBLE_EQ(row.log_probability(2), 0.5 * 32 - 8.0);
}

TEST(BaseLogits, RefusesAFileThatIsNotWhatItSays) {
  const testing::TempDir directory;
  const std::string whole = small_file();
  std::string larger = whole;
  const std::uint32_t huge = 0xffffffff;
  std::memcpy(larger.data() + 8, &huge, sizeof(huge));
  for (const std::string& content : {std::string("GGUF"), whole.substr(0, whole.size() - 1), whole + "x", larger})
    EXPECT_THROW(BaseLogits(directory.write("base", content).string()), base::Exception) << content.size();
}

}  // namespace
}  // namespace vitrine::bench
