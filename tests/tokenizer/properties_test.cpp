#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "support/random_seed.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/gguf_splitters.h"
#include "tokenizer/tokenizer.h"

// What holds of any text: random ones of the whole of Unicode, another seed in every run. Chains of decoders are held
// to the same by the fuzz targets decoder and tokenizer_components.
namespace vitrine::tokenizer {
namespace {

std::unique_ptr<Tokenizer> byte_level_with(const GgufSplitter& splitter) {
  std::vector<std::string> pieces;
  for (unsigned byte = 0; byte < 256; ++byte)
    pieces.emplace_back(spelling_of_byte(static_cast<unsigned char>(byte)));
  // The first two bytes of many ideographs, and words.
  for (const std::string_view text : {"th", "the", " t", "aa", "aaaa", "\xE4\xB8", "\xE4\xB8\xAD", "\r\n", "\xC2\xA0"})
    pieces.push_back(spelling_of_bytes(text));
  GgufVocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = splitter.name;
  vocabulary.tokens.assign(pieces.begin(), pieces.end());
  vocabulary.token_types.assign(pieces.size(), 1);
  const std::vector<std::string> merges = {"t h",
                                           "th e",
                                           spelling_of_bytes(" ") + " t",
                                           "a a",
                                           "aa aa",
                                           spelling_of_bytes("\xE4") + " " + spelling_of_bytes("\xB8"),
                                           spelling_of_bytes("\xE4\xB8") + " " + spelling_of_bytes("\xAD"),
                                           spelling_of_bytes("\r") + " " + spelling_of_bytes("\n"),
                                           spelling_of_bytes("\xC2") + " " + spelling_of_bytes("\xA0")};
  vocabulary.merges.assign(merges.begin(), merges.end());
  return Tokenizer::from_gguf(vocabulary).value_or_throw();
}

char32_t any_character(std::mt19937& random) {
  static constexpr std::u32string_view kTelling =
      U"theaa  \r\n\t'sT19.,\u00A0\u0301\u4E2D\u65E5\u30AB\uAC00\u200D\U0001F600";
  if (random() % 2 == 0) return kTelling[random() % kTelling.size()];
  const auto code_point = static_cast<char32_t>(random() % 0x110000);
  return code_point >= 0xD800 && code_point <= 0xDFFF ? U'\uFFFD' : code_point;
}

std::string any_text(std::mt19937& random) {
  std::string text;
  for (std::size_t left = random() % 40; left > 0; --left)
    base::append_utf8(text, any_character(random));
  return text;
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  Detokenizer stream(tokenizer, false);
  std::string text;
  for (const TokenId id : ids)
    text += stream.push(id);
  return text + stream.finish();
}

// Byte-level tokenizers lose nothing; those that normalize lose nothing of what they have normalized.
TEST(Properties, ByteLevelTokenizersGiveAnyTextBack) {
  const unsigned seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (const GgufSplitter& splitter : gguf_splitters()) {
    const auto tokenizer = byte_level_with(splitter);
    for (int i = 0; i < 100; ++i) {
      const std::string text = any_text(random);
      const auto ids = tokenizer->encode(text, {}).value_or_throw();
      const std::string decoded = tokenizer->decode(ids);
      ASSERT_EQ(streamed(*tokenizer, ids), decoded) << splitter.name;
      if (splitter.normalizes) {
        ASSERT_EQ(tokenizer->encode(decoded, {}).value_or_throw(), ids) << splitter.name << ": " << text;
      } else {
        ASSERT_EQ(decoded, text) << splitter.name;
      }
    }
  }
}

// The tokens of a byte-level tokenizer tile the text.
TEST(Properties, PlacesOfByteLevelTokensAreNextToEachOther) {
  const unsigned seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (const GgufSplitter& splitter : gguf_splitters()) {
    if (splitter.normalizes) continue;
    const auto tokenizer = byte_level_with(splitter);
    for (int i = 0; i < 30; ++i) {
      const std::string text = any_text(random);
      std::size_t pos = 0;
      for (const EncodedToken& token : tokenizer->encode_with_offsets(text, {}).value_or_throw()) {
        ASSERT_EQ(token.start, pos) << splitter.name << ": " << text;
        ASSERT_EQ(tokenizer->token_bytes(token.id), text.substr(token.start, token.end - token.start)) << splitter.name;
        pos = token.end;
      }
      ASSERT_EQ(pos, text.size()) << splitter.name << ": " << text;
    }
  }
}

}  // namespace
}  // namespace vitrine::tokenizer
