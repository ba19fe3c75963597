#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "support/long_run.h"
#include "tokenizer/tokenizer.h"

// Small tokenizer.json files: every section's kinds, and every lie.
namespace vitrine::tokenizer {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Ids = std::vector<TokenId>;

json small_file() {
  return json::parse(R"({
    "added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
    "model": {"type": "BPE", "unk_token": "?",
              "vocab": {"?": 0, "a": 1, "b": 2, "ab": 3, "c": 4, "abc": 5, " ": 6, "\u2581": 7, "A": 8, "1": 9, "2": 10},
              "merges": ["a b", "ab c"]}})");
}

json with_pre_tokenizer(const char* pre_tokenizer) {
  json file = small_file();
  file["pre_tokenizer"] = json::parse(pre_tokenizer);
  return file;
}

json with_normalizer(const char* normalizer) {
  json file = small_file();
  file["normalizer"] = json::parse(normalizer);
  return file;
}

std::unique_ptr<Tokenizer> open(const json& file) {
  return Tokenizer::from_tokenizer_json(file.dump(), "").value_or_throw();
}

std::string error_of_text(const std::string& text) {
  const auto result = Tokenizer::from_tokenizer_json(text, "");
  if (result) return "";
  EXPECT_EQ(result.error().kind, base::ErrorKind::kBadFile);
  return result.error().message;
}
std::string error_of(const json& file) {
  return error_of_text(file.dump());
}

// The pieces of the text's tokens, with | between them.
std::string pieces(const json& file, std::string_view text, EncodeOptions options = {}) {
  const auto tokenizer = open(file);
  std::vector<std::string> result;
  for (const TokenId id : tokenizer->encode(text, options).value_or_throw()) {
    result.emplace_back(tokenizer->piece(id));
  }
  return fmt::format("{}", fmt::join(result, "|"));
}

json added(const char* content, TokenId id, bool special) {
  return {{"id", id},        {"content", content}, {"special", special},  {"normalized", false},
          {"lstrip", false}, {"rstrip", false},    {"single_word", false}};
}

TEST(TokenizerJson, MergesInOrderOfRank) {
  EXPECT_EQ(pieces(small_file(), "abcab"), "abc|ab");
}

TEST(TokenizerJson, TakesMergesAsPairsToo) {
  json file = small_file();
  file["model"]["merges"] = json::parse(R"([["a", "b"], ["ab", "c"]])");
  EXPECT_EQ(pieces(file, "abcab"), "abc|ab");
}

TEST(TokenizerJson, UnknownCharactersBecomeTheUnknownToken) {
  EXPECT_EQ(pieces(small_file(), "axxb"), "a|?|?|b");
  json file = small_file();
  file["model"]["fuse_unk"] = true;
  EXPECT_EQ(pieces(file, "axxb"), "a|?|b");
  file = with_normalizer(R"({"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})");
  file["model"]["fuse_unk"] = true;
  EXPECT_EQ(pieces(file, "ax x"), "a|?|\u2581|?");
  file["model"]["vocab"].erase("\u2581");
  EXPECT_EQ(pieces(file, "ax xb"), "a|?|b");
}

TEST(TokenizerJson, WithoutUnknownTokenUnknownTextIsAnError) {
  json file = small_file();
  file["model"].erase("unk_token");
  const auto ids = open(file)->encode("x", {});
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().kind, base::ErrorKind::kUsage);
}

TEST(TokenizerJson, FindsTheLongestAddedToken) {
  json file = small_file();
  file["added_tokens"] = {added("<x>", 11, true), added("<x>y", 12, false)};
  EXPECT_EQ(pieces(file, "a<x>ya<x>"), "a|<x>y|a|<x>");
  EXPECT_EQ(pieces(file, "<x>y<x>", {.parse_special = false}), "<x>y|?|?|?");
}

TEST(TokenizerJson, AddedTokensStripAndMindWords) {
  json file = small_file();
  file["added_tokens"] = {added("<l>", 11, true), added("<r>", 12, true), added("c", 4, false)};
  file["added_tokens"][0]["lstrip"] = true;
  file["added_tokens"][1]["rstrip"] = true;
  file["added_tokens"][2]["single_word"] = true;
  EXPECT_EQ(pieces(file, "a <l> b"), "a|<l>| |b");
  EXPECT_EQ(pieces(file, "a <r> b"), "a| |<r>|b");
  EXPECT_EQ(pieces(file, "abc"), "abc");
  EXPECT_EQ(pieces(file, "ab c"), "ab| |c");
}

TEST(TokenizerJson, NormalizedAddedTokensAreFoundAfterNormalization) {
  json file = with_normalizer(R"({"type": "Lowercase"})");
  file["added_tokens"] = {added("AB", 11, false)};
  EXPECT_EQ(pieces(file, "aB"), "ab");
  file["added_tokens"][0]["normalized"] = true;
  EXPECT_EQ(pieces(file, "aB"), "AB");
}

TEST(TokenizerJson, Normalizers) {
  EXPECT_EQ(pieces(with_normalizer(R"({"type": "Lowercase"})"), "AB"), "ab");
  EXPECT_EQ(pieces(with_normalizer(R"({"type": "Prepend", "prepend": "a"})"), "bc"), "abc");
  EXPECT_EQ(pieces(with_normalizer(R"({"type": "Replace", "pattern": {"Regex": "[xy]+"}, "content": "c"})"), "abxy"),
            "abc");
  EXPECT_EQ(pieces(with_normalizer(R"({"type": "Strip"})"), " \t a\u3000"), "a");
  EXPECT_EQ(
      pieces(with_normalizer(R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]})"),
             "\u00E0b"),
      "ab");
  EXPECT_EQ(pieces(with_normalizer(R"({"type": "NFKC"})"), "\uFF21"), "A");
  EXPECT_EQ(pieces(with_normalizer(R"({"type": "NFKD"})"), "\u00B9"), "1");
}

TEST(TokenizerJson, NfcComposesAcrossASegment) {
  json file = with_normalizer(R"({"type": "NFC"})");
  file["model"]["vocab"]["\u00E0"] = 11;
  file["model"]["vocab"]["\uAC01"] = 12;
  EXPECT_EQ(pieces(file, "ba\u0300b"), "b|\u00E0|b");
  EXPECT_EQ(pieces(file, "\u1100\u1161\u11A8"), "\uAC01");
}

TEST(TokenizerJson, PreTokenizers) {
  EXPECT_EQ(pieces(with_pre_tokenizer(R"({"type": "Digits", "individual_digits": true})"), "ab12"), "ab|1|2");
  EXPECT_EQ(pieces(with_pre_tokenizer(R"({"type": "WhitespaceSplit"})"), "a b\nab"), "a|b|ab");
  EXPECT_EQ(pieces(with_pre_tokenizer(R"({"type": "Whitespace"})"), "a b"), "a|b");
  EXPECT_EQ(pieces(with_pre_tokenizer(R"({"type": "Metaspace"})"), "ab c"), "\u2581|ab|\u2581|c");
  EXPECT_EQ(
      pieces(with_pre_tokenizer(R"({"type": "Split", "pattern": {"String": "b"}, "behavior": "Removed"})"), "abc"),
      "a|c");
  EXPECT_EQ(
      pieces(with_pre_tokenizer(
                 R"({"type": "Split", "pattern": {"String": "b"}, "behavior": "MergedWithPrevious", "invert": false})"),
             "abc"),
      "ab|c");
  EXPECT_EQ(pieces(with_pre_tokenizer(R"({"type": "Split", "pattern": {"String": "b"}, "behavior": "MergedWithNext"})"),
                   "abc"),
            "a|b|c");
}

TEST(TokenizerJson, OffsetsPointIntoTheTextAsGiven) {
  json file = with_normalizer(R"({"type": "Sequence", "normalizers": [
      {"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]})");
  const auto tokens = open(file)->encode_with_offsets("ab c", {}).value_or_throw();
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(tokens[0].end, 0u);
  EXPECT_EQ(tokens[1].start, 0u);
  EXPECT_EQ(tokens[1].end, 2u);
  EXPECT_EQ(tokens[2].start, 2u);
  EXPECT_EQ(tokens[3].start, 3u);
  EXPECT_EQ(tokens[3].end, 4u);
}

TEST(TokenizerJson, PostProcessorsPutTokensAround) {
  json file = small_file();
  file["post_processor"] = json::parse(R"({"type": "RobertaProcessing", "sep": ["b", 2], "cls": ["a", 1]})");
  EXPECT_EQ(pieces(file, "c", {.add_special = true}), "a|c|b");
  EXPECT_EQ(pieces(file, "c"), "c");
}

TEST(TokenizerJson, UnigramTakesTheBestScore) {
  json file = small_file();
  file["model"] = json::parse(R"({"type": "Unigram", "unk_id": 0,
      "vocab": [["<unk>", 0], ["a", -1], ["b", -1], ["ab", -1.5], ["abc", -9], ["c", -1]]})");
  EXPECT_EQ(pieces(file, "abc"), "ab|c");
  EXPECT_EQ(pieces(file, "axxb"), "a|<unk>|b");
}

json bert_file() {
  return json::parse(R"({
    "added_tokens": [], "normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": null, "decoder": {"type": "WordPiece"},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "max_input_chars_per_word": 12,
              "vocab": {"[UNK]": 0, "hello": 1, "world": 2, "##ing": 3, "play": 4, "##s": 5, ",": 6, "!": 7, "\u4e2d": 8,
                        "\u6587": 9, "cafe": 10, "'": 11, "do": 12, "not": 13, "s": 14, "##t": 15}}})");
}

// What Hugging Face's tokenizers 0.23.3 gives.
TEST(TokenizerJson, WordPieceCutsWordsFromTheLeft) {
  const json file = bert_file();
  EXPECT_EQ(pieces(file, "Hello, WORLD!"), "hello|,|world|!");
  EXPECT_EQ(pieces(file, "playing plays playt playx"), "play|##ing|play|##s|play|##t|[UNK]");
  EXPECT_EQ(pieces(file, "\u4e2d\u6587hello"), "\u4e2d|\u6587|hello");
  EXPECT_EQ(pieces(file, "Caf\u00e9 cafe\u0301"), "cafe|cafe");
  EXPECT_EQ(pieces(file, "he\x01llo wor\u200dld\tplay\u00a0s"), "hello|world|play|s");
  EXPECT_EQ(pieces(file, "playingplaying plays"), "[UNK]|play|##s") << "longer than twelve characters";
  EXPECT_EQ(pieces(file, "don't"), "[UNK]|'|[UNK]");
}

TEST(TokenizerJson, WordPieceIsJoinedAsEnglishIsWritten) {
  const auto tokenizer = open(bert_file());
  const auto round = [&](std::string_view text) {
    return tokenizer->decode(tokenizer->encode(text, {}).value_or_throw());
  };
  EXPECT_EQ(round("Hello, WORLD!"), "hello, world!");
  EXPECT_EQ(round("playing plays playt"), "playing plays playt");
  EXPECT_EQ(round("don't do not s's"), "[UNK] ' [UNK] do not s ' s");
}

TEST(TokenizerJson, WordPieceNamesWhatIsWrong) {
  json file = bert_file();
  file["model"]["unk_token"] = "<unk>";
  EXPECT_THAT(error_of(file), HasSubstr("model.unk_token: \"<unk>\" is not in the vocabulary"));
  file = bert_file();
  file["model"]["max_input_chars_per_word"] = 0;
  EXPECT_THAT(error_of(file), HasSubstr("model.max_input_chars_per_word"));
  file = bert_file();
  file["decoder"]["prefix"] = "";
  EXPECT_THAT(error_of(file), HasSubstr("decoder.prefix"));
}

// What a stream gives out piece by piece, and at the end; a bar between.
std::string streamed(std::string_view decoder, const std::vector<std::string>& words) {
  json file = small_file();
  file["decoder"] = json::parse(decoder);
  file["model"] = {{"type", "WordLevel"}, {"unk_token", "<unk>"}, {"vocab", json::object()}};
  for (const std::string& word : words)
    file["model"]["vocab"].emplace(word, file["model"]["vocab"].size());
  const auto tokenizer = open(file);
  Detokenizer detokenizer(*tokenizer, false);
  std::string result;
  Ids ids;
  for (const std::string& word : words) {
    ids.push_back(tokenizer->find(word).value());
    result += detokenizer.push(ids.back()) + "|";
  }
  std::string joined = result += detokenizer.finish();
  std::erase(joined, '|');
  EXPECT_EQ(joined, tokenizer->decode(ids)) << decoder;
  return result;
}

TEST(TokenizerJson, StreamsHoldBackOnlyWhatIsNotCertain) {
  EXPECT_EQ(streamed(R"({"type": "BPEDecoder"})", {"low", "er</w>", "new</w>"}), "low|er| new|");
  EXPECT_EQ(streamed(R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 1}]})",
                     {" a", " ", "b ", "  "}),
            "a|| b|  |")
      << "of the spaces at the end one is stripped, and that one waits";
  EXPECT_EQ(streamed(R"({"type": "Strip", "content": "x", "start": 0, "stop": 2})", {"axxx", "bx"}), "ax|b|");
  EXPECT_EQ(streamed(R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
      {"type": "Replace", "pattern": {"String": "ab"}, "content": "-"}]})",
                     {"xa", "b", "a", "c"}),
            "x|-||ac|");
  EXPECT_EQ(streamed(R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
      {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "-"}]})",
                     {"xa", "a", "c"}),
            "|||x-c");
  EXPECT_EQ(streamed("null", {"a", "", "b"}), "a| | b|") << "a piece without text is one all the same";
  EXPECT_EQ(streamed(R"({"type": "CTC"})", {"h", "<pad>", "l", "|"}), "h||l| |");
  EXPECT_EQ(streamed(R"({"type": "Metaspace"})", {"\u2581\u2581a\u2581", "\u2581b"}), "a| b|");
}

TEST(TokenizerJson, RefusesWhatIsNotSupportedByName) {
  json file = small_file();
  file["model"]["type"] = "Words";
  EXPECT_THAT(error_of(file), HasSubstr("model: type \"Words\""));
  EXPECT_THAT(error_of(with_normalizer(R"({"type": "Sequence", "normalizers": [{"type": "NFX"}]})")),
              HasSubstr("normalizer.normalizers[0]: type \"NFX\""));
  EXPECT_THAT(error_of(with_pre_tokenizer(R"({"type": "Moses"})")), HasSubstr("pre_tokenizer: type \"Moses\""));
  file = small_file();
  file["decoder"]["type"] = "CTX";
  EXPECT_THAT(error_of(file), HasSubstr("decoder: type \"CTX\""));
  file = small_file();
  file["model"]["dropout"] = 0.1;
  EXPECT_THAT(error_of(file), HasSubstr("model.dropout"));
}

TEST(TokenizerJson, RefusesManyCharactersWhereOneBelongs) {
  const auto refused = ::testing::HasSubstr("must be one character");
  for (const char* text : {"", "ab", "\u2581\u2581"}) {
    const json metaspace = {{"type", "Metaspace"}, {"replacement", text}};
    EXPECT_THAT(error_of(with_pre_tokenizer(metaspace.dump().c_str())), refused) << text;
    const json delimiter = {{"type", "CharDelimiterSplit"}, {"delimiter", text}};
    EXPECT_THAT(error_of(with_pre_tokenizer(delimiter.dump().c_str())), refused) << text;
    json file = small_file();
    file["decoder"] = metaspace;
    EXPECT_THAT(error_of(file), refused) << text;
    file["decoder"] = {{"type", "Strip"}, {"content", text}, {"start", 1}, {"stop", 0}};
    EXPECT_THAT(error_of(file), refused) << text;
  }
}

json steps_of(const char* type, const char* name, const json& step, std::size_t count) {
  json steps = json::array();
  for (std::size_t i = 0; i < count; ++i)
    steps.push_back(step);
  return {{"type", type}, {name, steps}};
}

TEST(TokenizerJson, ReplacementsThatMakeATextLongWithoutEndAreAnError) {
  const json twice = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  json file = small_file();
  file["normalizer"] = steps_of("Sequence", "normalizers", twice, 60);
  file["decoder"] = steps_of("Sequence", "decoders", twice, 60);
  EXPECT_THAT(error_of(file), HasSubstr("decoder: its replacements"));
  file["decoder"] = steps_of("Sequence", "decoders", twice, 2);
  const auto tokenizer = open(file);
  EXPECT_EQ(tokenizer->decode(Ids{1}), "aaaa");
  for (const auto& failed :
       {tokenizer->encode("a", {}).has_value(), tokenizer->encode_with_offsets("a", {}).has_value()})
    EXPECT_FALSE(failed);
  EXPECT_THAT(tokenizer->encode("a", {}).error().message, HasSubstr("longer than"));
  EXPECT_EQ(tokenizer->encode("b", {}).value_or_throw(), Ids{2}) << "other texts are as good as ever";

  // Each spells the bytes of the one before again.
  const json spelled = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  file["pre_tokenizer"] = steps_of("Sequence", "pretokenizers", spelled, 60);
  EXPECT_THAT(open(file)->encode("\u00e9", {}).error().message, HasSubstr("longer than"));
}

TEST(TokenizerJson, RefusesBrokenStructure) {
  json file = small_file();
  file["model"]["merges"].push_back("a z");
  EXPECT_THAT(error_of(file), HasSubstr("model.merges[2]"));
  file = small_file();
  file["model"]["vocab"]["z"] = std::int64_t{1} << 31;
  EXPECT_THAT(error_of(file), HasSubstr("model.vocab"));
  file = small_file();
  file["model"]["vocab"]["z"] = 1;
  EXPECT_THAT(error_of(file), HasSubstr("id 1 is given twice"));
  file = small_file();
  file["added_tokens"] = {added("", 11, true)};
  EXPECT_THAT(error_of(file), HasSubstr("added_tokens[0]"));
  file["added_tokens"] = {added("x", 11, true), added("x", 12, true)};
  EXPECT_THAT(error_of(file), HasSubstr("added_tokens[1]"));
  file["added_tokens"] = {added(std::string(600, 'x').c_str(), 11, true)};
  EXPECT_THAT(error_of(file), HasSubstr("added_tokens[0]"));
}

TEST(TokenizerJson, RefusesTwoIdsOfOneText) {
  EXPECT_THAT(error_of_text(R"({"model": {"type": "BPE", "vocab": {"a": 0, "a": 1}, "merges": []}})"),
              HasSubstr("same text"));
}

TEST(TokenizerJson, RefusesDeepNestingQuickly) {
  const std::string deep = R"({"normalizer": )" + std::string(100'000, '[');
  const vitrine::testing::LongRun run;
  EXPECT_NE(error_of_text(deep), "");
  EXPECT_NE(error_of_text(deep + std::string(100'000, ']') + "}"), "");
  EXPECT_LT(run.seconds(), run.kMostSeconds);
}

TEST(TokenizerJson, RefusesEveryPrefix) {
  const std::string whole = small_file().dump();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(error_of_text(whole.substr(0, length)), "");
}

TEST(TokenizerJson, PassesOverIdsOutsideTheVocabulary) {
  const auto tokenizer = open(small_file());
  EXPECT_EQ(tokenizer->decode(Ids{-1, 1, 1'000'000, 2}), "ab");
  EXPECT_EQ(tokenizer->piece(-1), "");
  EXPECT_EQ(Detokenizer(*tokenizer, false).push(-5), "");
}

}  // namespace
}  // namespace vitrine::tokenizer
