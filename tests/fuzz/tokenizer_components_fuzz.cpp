// A tokenizer.json that is well formed, made of any components by the bytes of the input, then a text for it: mutations
// of JSON seldom get so far. It is refused, or everything holds of it that holds of tokenizers.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "fuzz/check_tokenizer.h"
#include "fuzz/choices.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace vitrine;

// Texts and expressions as JSON spells them.
constexpr std::string_view kAtoms[] = {
    "a",       "b",       "c",        "A",       "ab",      " ",       "\\u2581", "\\u0120",
    "##",      "</w>",    "<0x41>",   "<0xE6>",  "<0x97>",  "<0xA5>",  "<unk>",   "<x>",
    "<pad>",   "|",       "\\n",      "1",       "23",      ".",       ",",       "'s",
    " do not", "\\u00e9", "e\\u0301", "\\u65e5", "\\u30ab", "\\u0130", "\\u0000", "\\u200b",
    "\\ufdfa", "\\u0345", "\\uac00",  "\\u00c3", "\\u00a9", "\\u010a", "\\ufffd", "\\ud83d\\ude00",
};
constexpr std::string_view kExpressions[] = {
    R"( ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+)",
    R"((?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+)",
    R"([\\p{L}&&[^\\p{Han}]]+)",
    R"([a[bc]]{1,2}+)",
    R"(\\p{N}{1,3})",
    R"([^\\s]+)",
    R"((?<=a)b?)",
    R"((a)|b\\1?)",
    R"((?=b))",
    R"(a\\Kb)",
    R"((?m).)",
    R"(x{,2})",
    R"(\\s+)",
    R"(\\h+)",
    R"(^|$)",
    R"(\\b)",
    R"(\\X)",
    R"(a*)",
    R"(.)",
};
constexpr std::string_view kBehaviors[] = {"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
constexpr std::string_view kSchemes[] = {"always", "first", "never"};

// What a % stands for: %p a pattern, %f a flag, %v a behavior, %h a scheme, %i an id, %n a small number, %1 and %2 a
// text of up to so many atoms.
constexpr std::string_view kNormalizers[] = {
    R"({"type":"NFC"})",
    R"({"type":"NFD"})",
    R"({"type":"NFKC"})",
    R"({"type":"NFKD"})",
    R"({"type":"Nmt"})",
    R"({"type":"ByteLevel"})",
    R"({"type":"Lowercase"})",
    R"({"type":"StripAccents"})",
    R"({"type":"Prepend","prepend":"%2"})",
    R"({"type":"Strip","strip_left":%f,"strip_right":%f})",
    R"({"type":"Replace","pattern":%p,"content":"%2"})",
    R"({"type":"BertNormalizer","clean_text":%f,"handle_chinese_chars":%f,"strip_accents":%f,"lowercase":%f})",
};
constexpr std::string_view kPreTokenizers[] = {
    R"({"type":"Whitespace"})",
    R"({"type":"WhitespaceSplit"})",
    R"({"type":"BertPreTokenizer"})",
    R"({"type":"UnicodeScripts"})",
    R"({"type":"FixedLength","length":%n})",
    R"({"type":"Digits","individual_digits":%f})",
    R"({"type":"CharDelimiterSplit","delimiter":"%1"})",
    R"({"type":"Punctuation","behavior":"%v"})",
    R"({"type":"ByteLevel","add_prefix_space":%f,"use_regex":%f})",
    R"({"type":"Metaspace","replacement":"%1","prepend_scheme":"%h","split":%f})",
    R"({"type":"Split","pattern":%p,"behavior":"%v","invert":%f})",
};
constexpr std::string_view kDecoders[] = {
    R"({"type":"Fuse"})",
    R"({"type":"ByteLevel"})",
    R"({"type":"ByteFallback"})",
    R"({"type":"BPEDecoder","suffix":"%1"})",
    R"({"type":"WordPiece","prefix":"%1","cleanup":%f})",
    R"({"type":"Strip","content":"%1","start":%n,"stop":%n})",
    R"({"type":"Metaspace","replacement":"%1","prepend_scheme":"%h"})",
    R"({"type":"CTC","pad_token":"%1","word_delimiter_token":"%1","cleanup":%f})",
    R"({"type":"Replace","pattern":%p,"content":"%2"})",
};
constexpr std::string_view kPostProcessors[] = {
    "null",
    R"({"type":"ByteLevel"})",
    R"({"type":"BertProcessing","cls":["a",%i],"sep":["b",%i]})",
    R"({"type":"Sequence","processors":[{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a"}},)"
    R"({"Sequence":{"id":"A"}}],"special_tokens":{"a":{"ids":[%i,%i]}}}]})",
};
// %V the vocabulary, %S the same with scores, %M the merges.
constexpr std::string_view kModels[] = {
    R"({"type":"BPE","vocab":%V,"merges":%M,"unk_token":"<unk>","fuse_unk":%f,"byte_fallback":%f,"ignore_merges":%f})",
    R"({"type":"BPE","vocab":%V,"merges":%M})",
    R"({"type":"BPE","vocab":%V,"merges":%M,"unk_token":"<unk>","end_of_word_suffix":"</w>"})",
    R"({"type":"WordLevel","vocab":%V,"unk_token":"<unk>"})",
    R"({"type":"WordPiece","vocab":%V,"unk_token":"<unk>","max_input_chars_per_word":%n%n})",
    R"({"type":"Unigram","vocab":%S,"unk_id":0,"byte_fallback":%f})",
};
constexpr std::string_view kAddedToken =
    R"({"id":%i,"content":"%2","special":%f,"normalized":%f,"lstrip":%f,"rstrip":%f,"single_word":%f})";

class Maker {
 public:
  explicit Maker(fuzz::Choices& choices) : choices_(choices) { draw_pieces(); }

  std::string file() {
    std::string file = R"({"normalizer":)" + sequence("normalizers", kNormalizers);
    file += R"(,"pre_tokenizer":)" + sequence("pretokenizers", kPreTokenizers);
    file += R"(,"decoder":)" + sequence("decoders", kDecoders);
    file += R"(,"post_processor":)" + filled(choices_.of(kPostProcessors));
    file += R"(,"model":)" + filled(choices_.of(kModels));
    return file + R"(,"added_tokens":)" + added_tokens() + "}";
  }

 private:
  // Those of the vocabulary, with what merges join.
  void draw_pieces() {
    add_piece("<unk>");
    for (std::size_t count = 1 + choices_.pick(24); count > 0; --count)
      add_piece(text(2));
    for (std::size_t count = choices_.pick(8); count > 0; --count) {
      const std::string left = pieces_[choices_.pick(pieces_.size())];
      const std::string right = pieces_[choices_.pick(pieces_.size())];
      merges_ += fmt::format(R"({}["{}","{}"])", merges_.empty() ? "" : ",", left, right);
      add_piece(left + right);
    }
  }

  void add_piece(const std::string& piece) {
    if (!piece.empty() && seen_.insert(piece).second) pieces_.push_back(piece);
  }

  std::string text(std::size_t most) {
    std::string text;
    for (std::size_t count = choices_.pick(most + 1); count > 0; --count)
      text += choices_.of(kAtoms);
    return text;
  }

  // null, one component or several.
  template <std::size_t kCount>
  std::string sequence(std::string_view name, const std::string_view (&rows)[kCount]) {
    const std::size_t count = choices_.pick(5);
    if (count == 0) return "null";
    std::string steps = filled(choices_.of(rows));
    if (count == 1) return steps;
    for (std::size_t i = 1; i < count; ++i)
      steps.append(",").append(filled(choices_.of(rows)));
    return fmt::format(R"({{"type":"Sequence","{}":[{}]}})", name, steps);
  }

  std::string added_tokens() {
    std::string rows;
    for (std::size_t count = choices_.pick(4); count > 0; --count)
      rows.append(rows.empty() ? "" : ",").append(filled(kAddedToken));
    return fmt::format("[{}]", rows);
  }

  std::string filled(std::string_view row) {
    std::string out;
    for (std::size_t i = 0; i < row.size(); ++i)
      out += row[i] == '%' ? drawn(row[++i]) : std::string(1, row[i]);
    return out;
  }

  std::string drawn(char code) {
    switch (code) {
      case 'p':
        return choices_.flag() ? fmt::format(R"({{"Regex":"{}"}})", choices_.of(kExpressions))
                               : fmt::format(R"({{"String":"{}"}})", text(2));
      case 'f':
        return choices_.flag() ? "true" : "false";
      case 'v':
        return std::string(choices_.of(kBehaviors));
      case 'h':
        return std::string(choices_.of(kSchemes));
      case 'i':
        return fmt::format("{}", choices_.pick(pieces_.size() + 4));
      case 'n':
        return fmt::format("{}", choices_.pick(5));
      case 'V':
        return vocabulary();
      case 'S':
        return scored_vocabulary();
      case 'M':
        return fmt::format("[{}]", merges_);
      default:
        return text(static_cast<std::size_t>(code - '0'));
    }
  }

  std::string vocabulary() const {
    std::string rows;
    for (std::size_t id = 0; id < pieces_.size(); ++id)
      rows += fmt::format(R"({}"{}":{})", id == 0 ? "" : ",", pieces_[id], id);
    return fmt::format("{{{}}}", rows);
  }

  std::string scored_vocabulary() {
    std::string rows;
    for (std::size_t id = 0; id < pieces_.size(); ++id)
      rows += fmt::format(R"({}["{}",-{}])", id == 0 ? "" : ",", pieces_[id], choices_.pick(5));
    return fmt::format("[{}]", rows);
  }

  fuzz::Choices& choices_;
  std::set<std::string> seen_;
  std::vector<std::string> pieces_;
  std::string merges_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Choices choices(data, size);
  const std::string json = Maker(choices).file();
  const auto opened = tokenizer::Tokenizer::from_tokenizer_json(json, "");
  if (!opened) {
    VT_CHECK(opened.error().kind == base::ErrorKind::kBadFile && !opened.error().message.empty(), "a reason");
    return 0;
  }
  fuzz::check_tokenizer(**opened, "ab \xE6\x97\xA5\xCC\x81<x>1 do not|\xC3\xA9.\n" + std::string(choices.rest()));
  return 0;
}
