#include "tokenizer/gguf_splitters.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tokenizer/known_patterns.h"
#include "tokenizer/oniguruma.h"

// The names are those of llama.cpp, which writes them into GGUF files; the expressions are published with the models'
// own tokenizers (tokenizer.json, or the code beside it). Where the two differ, the row follows the model's own.
namespace vitrine::tokenizer {
namespace {

constexpr bool kIgnoresMerges = true;
constexpr bool kAddsBos = true;
constexpr bool kNfc = true;

constexpr GgufSplitter kSplitters[] = {
    {"default", {R"([\p{P}\$\+<=>\^~\|]+)", "gpt2", "numbers", "digits_3"}},
    {"gpt-2", {"gpt2"}},
    {"phi-2", {"gpt2"}},
    {"mpt", {"gpt2"}},
    {"olmo", {"gpt2"}},
    {"jais", {"gpt2"}},
    {"jina-en", {"gpt2"}},
    {"jina-es", {"gpt2"}},
    {"jina-de", {"gpt2"}},
    {"jina-v1-en", {"gpt2"}},
    {"jina-v2-es", {"gpt2"}},
    {"jina-v2-de", {"gpt2"}},
    {"jina-v2-code", {"gpt2"}},
    {"roberta-bpe", {"gpt2"}},
    {"modern-bert", {"gpt2"}, false, false, kNfc},
    {"gigachat", {"gpt2"}},
    {"a.x-4.0", {"gpt2"}},
    {"mellum", {"gpt2"}},
    {"trillion", {"gpt2"}},
    {"granite-docling", {"gpt2"}},
    {"exaone4", {"gpt2"}},
    {"smollm", {"number", "gpt2"}},
    {"starcoder", {"number", "gpt2"}},
    {"refact", {"number", "gpt2"}},
    {"command-r", {"number", "gpt2"}},
    {"codeshell", {"number", "gpt2"}},
    {"exaone", {"number", "gpt2"}},
    {"minerva-7b", {"number", "gpt2"}},
    {"mellum2", {"number", "gpt2"}},
    {"llama-bpe", {"llama3"}, kIgnoresMerges, kAddsBos},
    {"llama-v3", {"llama3"}, kIgnoresMerges, kAddsBos},
    {"llama3", {"llama3"}, kIgnoresMerges, kAddsBos},
    {"falcon3", {"llama3"}, kIgnoresMerges, kAddsBos},
    {"falcon-h1", {"llama3"}, kIgnoresMerges, kAddsBos},
    {"pixtral", {"llama3"}, kIgnoresMerges, kAddsBos},
    {"midm-2.0", {"llama3"}, kIgnoresMerges, kAddsBos},
    {"lfm2", {"llama3"}, kIgnoresMerges, kAddsBos},
    {"jina-v5-nano", {"llama3"}, kIgnoresMerges, kAddsBos},
    {"dbrx", {"llama3"}},
    {"smaug-bpe", {"llama3"}},
    {"glm4", {"llama3"}},
    {"chatglm-bpe", {"llama3"}},
    {"minicpm5",
     {"numbers_3",
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
      R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
     kIgnoresMerges},
    {"jais-2",
     {"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
      R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|)"
      R"(\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"}},
    {"qwen2", {"qwen2"}, false, false, kNfc},
    {"deepseek-r1-qwen", {"qwen2"}, false, false, kNfc},
    {"stablelm2", {"qwen2"}, false, false, kNfc},
    {"megrez", {"qwen2"}, false, false, kNfc},
    {"kormo", {"qwen2"}},
    {"f2llmv2", {"qwen2"}, false, false, kNfc},
    {"hunyuan", {"qwen2"}},
    {"solar-open", {"qwen2"}},
    {"grok-2", {"qwen2"}},
    {"laguna", {R"([^\n]+|[\n]+)", "qwen2"}},
    {"ufakzeka", {R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
    {"seed-coder",
     {"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
      R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)"}},
    {"exaone-moe",
     {"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
      R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|)"
      R"(\s*[\r\n]|\s+(?!\S)|\s+)"}},
    {"qwen35", {"qwen3.5"}, false, false, kNfc},
    {"gpt-4o", {"o200k"}},
    {"llama4", {"o200k"}},
    {"kanana2", {"o200k"}},
    {"talkie", {"o200k"}},
    {"minimax-m2", {"o200k"}},
    {"granite-embed-multi-97m", {"o200k"}, kIgnoresMerges},
    {"tiny_aya", {R"(\d{1,3}(?=(?:\d{3})*\b))", "o200k"}},
    {"cohere2moe", {R"(\d{1,3}(?=(?:\d{3})*\b))", "o200k"}},
    {"kimi-k2", {"kimi"}},
    {"youtu",
     {"[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-"
      "\ufe4f]+|"
      "[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
      "youtu_words"},
     kIgnoresMerges},
    {"tekken", {"tekken"}, kIgnoresMerges, kAddsBos},
    {"falcon", {"falcon_marks", "gpt2", "digits_3"}},
    {"chameleon",
     {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", R"([\t\n]|    |  )", "number", "punctuation", "gpt2"},
     false,
     kAddsBos},
    {"poro-chat", {"bloom"}},
    {"bloom", {"bloom"}},
    {"gpt3-finnish", {"bloom"}},
    {"viking", {"bloom", "number"}},
    {"superbpe", {"numbers", R"((?=(\d{3})+(?!\d)))"}},
    {"bailingmoe", {"bailing"}},
    {"bailingmoe2", {"bailing"}},
    {"llada-moe", {"bailing"}},
    {"deepseek-llm",
     {R"([\r\n])", "deepseek_letters",
      R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)", R"(\s+$)",
      "deepseek_first_cjk", "number"}},
    {"deepseek-coder", {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", "deepseek_first_cjk", "number"}},
    {"deepseek-v3", {"numbers_3", "deepseek_cjk", "deepseek_words"}},
    {"deepseek-r1", {"numbers_3", "deepseek_cjk", "deepseek_words"}},
    {"hunyuan-dense", {"numbers_3", "deepseek_cjk", "deepseek_words"}},
    {"joyai-llm", {"numbers_3", "deepseek_cjk", "deepseek_words"}},
    {"hy_v4", {"numbers_3", "deepseek_cjk", "deepseek_words"}},
    {"spark2_5",
     {"numbers_3", "deepseek_cjk",
      R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)",
      "number"}},
    {"afmoe",
     {R"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))",
      R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF}\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}\x{E40}-\x{E7F}\x{E80}-\x{EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)",
      "deepseek_words"}},
};

// Expressions by name: those that are long, or that several rows have.
constexpr std::pair<std::string_view, std::string_view> kExpressions[] = {
    {"bloom", R"( ?[^(\s|[.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C}])]+)"},
    {"bailing",
     R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"},
    {"kimi",
     R"([\p{Han}]+|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {"youtu_words",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
     R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {"deepseek_first_cjk", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"},
    // The letters with case, as of the Unicode of its time.
    {"deepseek_letters",
     R"(\s?[)"
     R"(\x{41}-\x{5A}\x{61}-\x{7A}\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF})"
     R"(\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386})"
     R"(\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556})"
     R"(\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF})"
     R"(\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D})"
     R"(\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D})"
     R"(\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3})"
     R"(\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
     R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134})"
     R"(\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4})"
     R"(\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F})"
     R"(\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17})"
     R"(\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB})"
     R"(\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"
     "]+"},
};

}  // namespace

std::span<const GgufSplitter> gguf_splitters() {
  return kSplitters;
}

const GgufSplitter* find_gguf_splitter(std::string_view name) {
  const auto row = std::ranges::find(kSplitters, name.empty() ? "default" : name, &GgufSplitter::name);
  return row == std::end(kSplitters) ? nullptr : row;
}

std::unique_ptr<Pattern> splitter_pattern(std::string_view pattern) {
  const auto known = std::ranges::find(known_patterns(), pattern, &KnownPattern::name);
  if (known != known_patterns().end()) return make_scan_pattern(*known);
  const auto* const shared =
      std::ranges::find(kExpressions, pattern, &std::pair<std::string_view, std::string_view>::first);
  if (shared != std::end(kExpressions)) pattern = shared->second;
  // Ours: they compile.
  return make_regex_pattern(pcre_of_oniguruma(pattern).value_or_throw()).value_or_throw();
}

}  // namespace vitrine::tokenizer
