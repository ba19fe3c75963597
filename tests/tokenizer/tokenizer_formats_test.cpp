#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tokenizer/character_map.h"
#include "tokenizer/protobuf_reader.h"
#include "tokenizer/tokenizer.h"

// Small files of the formats that are no tokenizer.json: what they mean, and every lie.
namespace vitrine::tokenizer {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<TokenId>;

std::string message_of(const base::Result<std::unique_ptr<Tokenizer>>& result) {
  if (result) return "";
  EXPECT_EQ(result.error().kind, base::ErrorKind::kBadFile);
  return result.error().message;
}

Ids encode_text(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, {}).value_or_throw();
}

// "a", "b", "c", "ab", "bc"
constexpr const char* kRanks = "YQ== 0\nYg== 1\nYw== 2\nYWI= 3\nYmM= 4\n";

TEST(Tiktoken, MergesWhereTheJointBytesAreATokenTheLowestRankFirst) {
  const auto tokenizer = Tokenizer::from_tiktoken(kRanks, "gpt2").value_or_throw();
  EXPECT_EQ(encode_text(*tokenizer, "abc"), (Ids{3, 2})) << "ab has the lower rank";
  EXPECT_EQ(encode_text(*tokenizer, "bc"), (Ids{4})) << "a word that is a token is taken whole";
  EXPECT_EQ(encode_text(*tokenizer, "a<|endoftext|>"), (Ids{0, 50256}));
  EXPECT_EQ(tokenizer->decode(Ids{3, 2, 50256}), "abc<|endoftext|>");
  EXPECT_TRUE(tokenizer->is_end_of_generation(50256));
}

TEST(Tiktoken, NamesTheLineThatIsWrong) {
  const auto error_of = [](const std::string& text) { return message_of(Tokenizer::from_tiktoken(text, "gpt2")); };
  EXPECT_THAT(error_of("YQ== 0\nYg==\n"), HasSubstr("line 2: must be base64, a space and a rank"));
  EXPECT_THAT(error_of("Y! 0\n"), HasSubstr("line 1: is not base64"));
  EXPECT_THAT(error_of("YQ== -1\n"), HasSubstr("line 1: the rank"));
  EXPECT_THAT(error_of("YQ== 99999999999999999999\n"), HasSubstr("line 1: the rank"));
  EXPECT_THAT(error_of("YQ== 0x\n"), HasSubstr("line 1: the rank"));
  EXPECT_THAT(error_of("YQ== 0\nYQ== 1\n"), HasSubstr("have the same text"));
  EXPECT_THAT(error_of("YQ== 0\nYg== 0\n"), HasSubstr("given twice"));
  EXPECT_THAT(error_of("YQ== 0\n 1\n"), HasSubstr("line 2: a token is empty"));
  EXPECT_THAT(error_of(std::string(1400, 'A') + " 0\n"), HasSubstr("the limit is 1024"));
  EXPECT_THAT(error_of(""), HasSubstr("no tokens"));
  EXPECT_THAT(error_of("YQ== 50256\n"), HasSubstr("50256"));
  EXPECT_THAT(message_of(Tokenizer::from_tiktoken(kRanks, "o300k")), HasSubstr("\"o300k\" is not known"));
}

std::string tekken(const std::string& vocab, const std::string& more = "", int vocab_size = 5, int num_special = 2) {
  return fmt::format(
      R"({{"config": {{"pattern": "[a-z]+", "default_vocab_size": {}, "default_num_special_tokens": {}}}, "vocab": [{}]{}}})",
      vocab_size, num_special, vocab, more);
}
constexpr const char* kTekkenVocab =
    R"({"rank": 0, "token_bytes": "YQ==", "token_str": "a"}, {"rank": 1, "token_bytes": "Yg=="},
       {"rank": 2, "token_bytes": "YWI="}, {"rank": 3, "token_bytes": "YWJh"})";

TEST(Tekken, HasTheSpecialTokensBelowTheRanksAndCutsItsVocabulary) {
  const std::string source = tekken(kTekkenVocab);
  EXPECT_TRUE(is_tekken_json(source));
  const auto tokenizer = Tokenizer::from_tekken(source).value_or_throw();
  EXPECT_EQ(encode_text(*tokenizer, "aba"), (Ids{4, 2})) << "the token aba is beyond default_vocab_size";
  EXPECT_EQ(tokenizer->vocab_size(), 5U);
  EXPECT_EQ(tokenizer->bos(), 1);
  EXPECT_EQ(tokenizer->encode("a", {.add_special = true}).value_or_throw(), (Ids{1, 2}));
}

TEST(Tekken, TakesTheSpecialTokensThatItsFileLists) {
  const std::string source = tekken(kTekkenVocab, R"(, "special_tokens": [{"rank": 0, "token_str": "[X]"}])");
  const auto tokenizer = Tokenizer::from_tekken(source).value_or_throw();
  EXPECT_EQ(encode_text(*tokenizer, "[X]<SPECIAL_1>"), (Ids{0, 1}));
  EXPECT_EQ(tokenizer->bos(), std::nullopt);
}

TEST(Tekken, NamesWhatIsWrong) {
  const auto error_of = [](const std::string& source) { return message_of(Tokenizer::from_tekken(source)); };
  EXPECT_THAT(error_of(tekken(R"({"rank": 1, "token_bytes": "YQ=="})")), HasSubstr("vocab[0]: ranks must rise by one"));
  EXPECT_THAT(error_of(tekken(R"({"rank": 0, "token_bytes": "Y"})")), HasSubstr("vocab[0].token_bytes: is not base64"));
  EXPECT_THAT(error_of(tekken(R"({"rank": 0, "token_bytes": "YQ=="})")), HasSubstr("config asks for 3"));
  EXPECT_THAT(error_of(tekken(kTekkenVocab, "", 2, 2)), HasSubstr("leaves no room"));
  EXPECT_THAT(error_of(tekken(kTekkenVocab, "", 2, -5)), HasSubstr("config.default_num_special_tokens"));
  EXPECT_THAT(error_of(tekken(kTekkenVocab, "", 9'000'000, 8'000'000)), HasSubstr("is more than 65536"));
  EXPECT_THAT(error_of(tekken(std::string(kTekkenVocab) + R"(}, {"rank": 4)")), HasSubstr("tekken:"))
      << "JSON that breaks right behind the last token that is taken";
  EXPECT_THAT(error_of("{}"), HasSubstr("tekken:"));
  EXPECT_THAT(error_of("[1"), HasSubstr("tekken:"));
  EXPECT_FALSE(is_tekken_json(R"({"model": {"vocab": {}}})"));
}

// A protobuf message, field by field.
class Message {
 public:
  Message& varint(unsigned number, std::uint64_t value) { return put((number << 3) | 0U).put(value); }
  Message& text(unsigned number, std::string_view value) {
    put((number << 3) | 2U).put(value.size());
    bytes_ += value;
    return *this;
  }
  Message& number(unsigned number, float value) {
    put((number << 3) | 5U);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8)
      bytes_.push_back(static_cast<char>(bits >> shift));
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Message& put(std::uint64_t value) {
    for (; value > 0x7F; value >>= 7)
      bytes_.push_back(static_cast<char>(0x80 | (value & 0x7F)));
    bytes_.push_back(static_cast<char>(value));
    return *this;
  }
  std::string bytes_;
};

struct Piece {
  std::string text;
  float score = 0;
  unsigned type = 1;
};

std::string piece_bytes(const Piece& piece) {
  return Message().text(1, piece.text).number(2, piece.score).varint(3, piece.type).bytes();
}

// type 1 is UNIGRAM, 2 BPE
std::string model_bytes(const std::vector<Piece>& pieces, unsigned type, bool collapses = false) {
  Message model;
  for (const Piece& piece : pieces)
    model.text(1, piece_bytes(piece));
  model.text(2, Message().varint(3, type).varint(43, static_cast<std::uint64_t>(-1)).bytes());
  model.text(3, Message().varint(4, collapses ? 1 : 0).bytes());
  return model.bytes();
}

const std::vector<Piece>& small_pieces() {
  static const std::vector<Piece> pieces = {{"<unk>", 0, 2}, {"<s>", 0, 3},  {"</s>", 0, 3}, {"\u2581", -5, 1},
                                            {"a", -6, 1},    {"b", -7, 1},   {"ab", -1, 1},  {"\u2581a", -2, 1},
                                            {"<x>", 0, 4},   {"abb", -9, 1}, {"bb", -8, 5}};
  return pieces;
}

TEST(SentencePiece, MergesByScore) {
  const auto tokenizer = Tokenizer::from_sentencepiece(model_bytes(small_pieces(), 2)).value_or_throw();
  EXPECT_EQ(encode_text(*tokenizer, "ab"), (Ids{3, 6}));
  EXPECT_EQ(encode_text(*tokenizer, "a<x>b"), (Ids{7, 8, 5})) << "a user's symbol is found as it stands";
  EXPECT_EQ(tokenizer->encode("a", {.add_special = true}).value_or_throw(), (Ids{1, 7}));
  EXPECT_EQ(tokenizer->decode(Ids{3, 6}), "ab");
  EXPECT_EQ(tokenizer->eos(), 2);
  EXPECT_EQ(tokenizer->pad(), std::nullopt);
}

TEST(SentencePiece, TakesTheBestSumOfScores) {
  const auto tokenizer = Tokenizer::from_sentencepiece(model_bytes(small_pieces(), 1)).value_or_throw();
  EXPECT_EQ(tokenizer->kind(), "Unigram");
  EXPECT_EQ(encode_text(*tokenizer, "ab"), (Ids{3, 6})) << "-6, against -9 of \u2581a and b";
  EXPECT_EQ(encode_text(*tokenizer, "abb"), (Ids{3, 6, 5})) << "-13, against -14 of abb; bb is unused";
  EXPECT_EQ(encode_text(*tokenizer, "azz"), (Ids{7, 0})) << "neighbouring unknown characters are one token";
}

TEST(SentencePiece, CollapsesSpacesWhereItsModelDoes) {
  const auto tokenizer = Tokenizer::from_sentencepiece(model_bytes(small_pieces(), 2, true)).value_or_throw();
  EXPECT_EQ(encode_text(*tokenizer, "  a  b "), (Ids{7, 3, 5}));
  EXPECT_EQ(encode_text(*tokenizer, "   "), Ids{});
}

TEST(SentencePiece, NamesWhatIsWrong) {
  const auto error_of = [](const std::string& bytes) { return message_of(Tokenizer::from_sentencepiece(bytes)); };
  const std::string whole = model_bytes(small_pieces(), 2);
  for (std::size_t size = 1; size < 40; ++size)
    EXPECT_NE(error_of(whole.substr(0, size)), "") << size;
  EXPECT_THAT(error_of(""), HasSubstr("pieces: there are none"));
  EXPECT_THAT(error_of(model_bytes(small_pieces(), 5)), HasSubstr("trainer_spec.model_type: 5"));
  EXPECT_THAT(error_of(model_bytes({{"a", 0, 9}}, 2)), HasSubstr("pieces[0].type: 9"));
  EXPECT_THAT(error_of(model_bytes({{"a", 0, 1}}, 2)), HasSubstr("trainer_spec.bos_id"));
  EXPECT_THAT(error_of(model_bytes({{"a", std::numeric_limits<float>::infinity(), 1}}, 2)), HasSubstr("scores"));
  EXPECT_THAT(error_of(whole + Message().text(3, Message().varint(5, 0).bytes()).bytes()),
              HasSubstr("normalizer_spec.escape_whitespaces"));
}

// A table of one row: "A" becomes "b".
std::string character_map() {
  std::vector<std::uint32_t> units(0x41);
  units[0] = 1u << 10;                              // the children of the root are at 1 ^ byte
  units[0x40] = 0x41u | (1u << 8) | (0x42u << 10);  // 'A', its value at 0x40 ^ 0x42
  units[2] = 0x80000000u;                           // the text at place 0
  const auto size = static_cast<std::uint32_t>(units.size() * sizeof(units[0]));
  std::string blob(reinterpret_cast<const char*>(&size), sizeof(size));
  blob.append(reinterpret_cast<const char*>(units.data()), size);
  return blob + std::string("b\0", 2);
}

TEST(CharacterMap, ReplacesWhatItsTableHas) {
  const CharacterMap map = CharacterMap::read(character_map()).value_or_throw();
  ASSERT_TRUE(map.longest("AA"));
  EXPECT_EQ(map.longest("AA")->length, 1U);
  EXPECT_EQ(map.longest("AA")->replacement, "b");
  EXPECT_FALSE(map.longest("a"));
  EXPECT_FALSE(map.longest(""));
  const std::string model = model_bytes(small_pieces(), 2) +
                            Message().text(3, Message().text(2, character_map()).varint(4, 0).bytes()).bytes();
  EXPECT_EQ(encode_text(*Tokenizer::from_sentencepiece(model).value_or_throw(), "aA"), (Ids{3, 6}));
}

TEST(CharacterMap, NeverLeavesItsTable) {
  const std::string whole = character_map();
  EXPECT_FALSE(CharacterMap::read(""));
  EXPECT_FALSE(CharacterMap::read(whole.substr(0, 100)));
  EXPECT_FALSE(CharacterMap::read(std::string(4, '\0') + "b"));
  EXPECT_FALSE(CharacterMap::read(whole.substr(0, whole.size() - 1)).value_or_throw().longest("A")) << "no end of text";
  for (std::size_t at = 4; at < whole.size(); ++at) {
    std::string broken = whole;
    broken[at] = static_cast<char>(0xFF);
    const auto map = CharacterMap::read(broken);
    for (unsigned byte = 0; map && byte < 256; ++byte)
      map->longest(std::string(3, static_cast<char>(byte)));
  }
}

TEST(ProtobufReader, NeverPassesTheEnd) {
  for (const std::string& bytes : std::vector<std::string>{
           std::string("\x80"), std::string(11, '\x80'), std::string("\x0A\x05") + "abc",
           std::string("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), std::string("\x15\x01\x02"),
           std::string("\x09\x01"), std::string("\x0B"), std::string("\x00\x01", 2)}) {
    EXPECT_FALSE(ProtobufReader(bytes).next());
  }
}

}  // namespace
}  // namespace vitrine::tokenizer
