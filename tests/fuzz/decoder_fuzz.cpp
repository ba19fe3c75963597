// Any chain of decoding steps over any pieces: what a stream gives out is what decoding at once gives, in parts that
// are UTF-8 each.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "fuzz/choices.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/decode_steps.h"
#include "tokenizer/decoder.h"

namespace {

using namespace vitrine;
using namespace vitrine::tokenizer;
using fuzz::Choices;

constexpr std::string_view kCharacters[] = {"a", "b", " ", "\xE2\x96\x81", "|", "#", "\xC3\xA9", "\xE6\x97\xA5"};
constexpr std::string_view kPieces[] = {
    "a",      "b",     " ",        "\xE2\x96\x81", "|",        "##",     "</w>",         "aa",
    "<0x41>", "<pad>", "<0xE6>",   "<0x97>",       "<0xA5>",   "<0xFF>", "\xC3\xA9",     " do not",
    " n't",   " .",    "\xC3\x83", "\xC2\xA9",     "\xC4\xA0", "<unk>",  "\xE6\x97\xA5", "'s"};
constexpr BadBytes kBadBytes[] = {BadBytes::kMaximalSubpart, BadBytes::kSingleBytes};

std::string text(Choices& choices, std::size_t least, std::size_t most) {
  std::string text;
  for (std::size_t count = least + choices.pick(most + 1 - least); count > 0; --count)
    text += choices.of(kPieces);
  return text;
}

std::string character(Choices& choices) {
  return std::string(choices.of(kCharacters));
}

SentencePieceSpelling spelling(Choices& choices) {
  using Start = SentencePieceSpelling::Start;
  constexpr Start kStarts[] = {Start::kKept, Start::kTakesOne, Start::kTakesAll};
  return {.mark = character(choices), .unknown = "<unk>", .surface = text(choices, 0, 1), .start = choices.of(kStarts)};
}

std::unique_ptr<Pattern> pattern(Choices& choices) {
  constexpr std::string_view kExpressions[] = {"a+", "a*", "\\b", "(?=b)", "^|$", "\\s+(?!\\S)", "."};
  return make_pcre_pattern(choices.of(kExpressions)).value_or_throw();
}

std::unique_ptr<DecodeStep> step(Choices& choices) {
  switch (choices.pick(13)) {
    case 0:
      return make_byte_level_decoder();
    case 1:
      return make_byte_tokens_decoder(choices.of(kBadBytes));
    case 2:
      return make_repair_decoder(choices.of(kBadBytes));
    case 3: {
      std::string from = text(choices, 0, 2);
      return make_replace_decoder(std::move(from), text(choices, 0, 2));
    }
    case 4:
      return make_sentencepiece_decoder(spelling(choices));
    case 5: {
      auto expression = pattern(choices);
      return make_pattern_decoder(std::move(expression), text(choices, 0, 1));
    }
    case 6:
      return make_fuse_decoder();
    case 7: {
      std::string content = character(choices);
      const std::size_t start = choices.pick(4);
      return make_strip_decoder(std::move(content), start, choices.pick(4));
    }
    case 8: {
      std::string mark = character(choices);
      return make_metaspace_decoder(std::move(mark), choices.flag());
    }
    case 9: {
      std::string prefix = text(choices, 1, 1);
      return make_wordpiece_decoder(std::move(prefix), choices.flag());
    }
    case 10:
      return make_suffix_decoder(text(choices, 1, 1));
    case 11: {
      std::string pad = text(choices, 0, 1);
      std::string delimiter = text(choices, 0, 1);
      return make_ctc_decoder(std::move(pad), std::move(delimiter), choices.flag());
    }
    default:
      return make_join_decoder(text(choices, 0, 1));
  }
}

std::string decode(const DecodeRules& rules, const std::vector<std::string>& pieces, bool whole) {
  PieceDecoder decoder(rules, whole);
  std::string text;
  for (const std::string& piece : pieces) {
    const std::string delta = decoder.push(piece);
    VT_CHECK(base::is_valid_utf8(delta), "half a character");
    text += delta;
  }
  return text + decoder.finish();
}

// Whether every run of byte tokens is UTF-8, so that nothing that was given out is taken back.
bool runs_are_whole(const std::vector<std::string>& pieces) {
  std::string run;
  for (const std::string& piece : pieces) {
    if (const auto byte = byte_of_token(piece)) {
      run += static_cast<char>(*byte);
    } else if (!base::is_valid_utf8(std::exchange(run, {}))) {
      return false;
    }
  }
  return base::is_valid_utf8(run);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  DecodeRules rules;
  const bool takes_back = choices.flag();  // where a run of byte tokens is broken
  if (takes_back) rules.add(make_byte_tokens_decoder(BadBytes::kWholeRun));
  for (std::size_t count = choices.pick(5); count > 0; --count)
    rules.add(step(choices));
  std::vector<std::string> pieces;
  while (!choices.at_end() && pieces.size() < 24)
    pieces.push_back(text(choices, 1, 2));
  const std::string whole = decode(rules, pieces, true);
  const std::string streamed = decode(rules, pieces, false);
  VT_CHECK(base::is_valid_utf8(whole), "a text that is not UTF-8");
  VT_CHECK(streamed == whole || (takes_back && !runs_are_whole(pieces)), "a stream that says something else");
  for (const std::string& piece : pieces)
    static_cast<void>(rules.bytes_of(piece));
  return 0;
}
