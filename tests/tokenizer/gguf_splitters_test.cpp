#include "tokenizer/gguf_splitters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tokenizer/pre_tokenizer.h"

namespace vitrine::tokenizer {
namespace {

// The pieces that a splitter cuts a text into, a bar between them.
std::string cut_by(const GgufSplitter& splitter, std::string_view text) {
  PreTokenizer pre_tokenizer;
  for (const std::string_view pattern : splitter.patterns) {
    if (pattern.empty()) continue;
    pre_tokenizer.add(make_split(splitter_pattern(pattern), SplitBehavior::kIsolated, false));
  }
  AlignedText aligned(text, 0, false);
  std::vector<Range> pieces = {{0, static_cast<std::uint32_t>(text.size())}};
  if (auto done = pre_tokenizer.apply(aligned, pieces, true); !done) return done.error().message;
  std::string cut;
  for (const Range& piece : pieces)
    cut += (cut.empty() ? "" : "|") + aligned.text().substr(piece.begin, piece.end - piece.begin);
  return cut;
}

constexpr std::string_view kTexts[] = {
    "It's 12345 Gr\u00f6\u00dfe,\u4e2d\u6587x\n\n  y",
    "HelloWORLD it'S a\u0301b \u30ab\u30bf! \uff01\u3002(1)[2] \r\n\tz  ",
};

struct SplitterRow {
  std::vector<std::string_view> names;
  std::string_view first, second;  // the texts, cut
};

// As the Split of Hugging Face's tokenizers 0.23.3 cuts by the same expressions.
const std::vector<SplitterRow>& splitter_rows() {
  static const std::vector<SplitterRow> rows = {
      {{"default", "falcon"},
       "It|'|s| |123|45| Gr\u00f6\u00dfe|,|\u4e2d\u6587x|\n\n | y",
       "HelloWORLD| it|'|S| a|\u0301|b| \u30ab\u30bf|!| |\uff01\u3002(|1|)[|2|]| \r\n|\t|z|  "},
      {{"gpt-2",           "phi-2",       "mpt",        "olmo",       "jais",       "jina-en",
        "jina-es",         "jina-de",     "jina-v1-en", "jina-v2-es", "jina-v2-de", "jina-v2-code",
        "roberta-bpe",     "modern-bert", "gigachat",   "a.x-4.0",    "mellum",     "trillion",
        "granite-docling", "exaone4"},
       "It|'s| 12345| Gr\u00f6\u00dfe|,|\u4e2d\u6587x|\n\n | y",
       "HelloWORLD| it|'|S| a|\u0301|b| \u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r\n|\t|z|  "},
      {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"},
       "It|'s| |1|2|3|4|5| Gr\u00f6\u00dfe|,|\u4e2d\u6587x|\n\n | y",
       "HelloWORLD| it|'|S| a|\u0301|b| \u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r\n|\t|z|  "},
      {{"llama-bpe", "llama-v3", "llama3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano",
        "dbrx", "smaug-bpe", "glm4", "chatglm-bpe", "minicpm5", "jais-2"},
       "It|'s| |123|45| Gr\u00f6\u00dfe|,\u4e2d\u6587x|\n\n| | y",
       "HelloWORLD| it|'S| a|\u0301b| \u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r\n|\tz|  "},
      {{"qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "kormo", "f2llmv2", "hunyuan", "solar-open", "grok-2",
        "ufakzeka", "seed-coder", "bailingmoe", "bailingmoe2", "llada-moe"},
       "It|'s| |1|2|3|4|5| Gr\u00f6\u00dfe|,\u4e2d\u6587x|\n\n| | y",
       "HelloWORLD| it|'S| a|\u0301b| \u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r\n|\tz|  "},
      {{"laguna"},
       "It|'s| |1|2|3|4|5| Gr\u00f6\u00dfe|,\u4e2d\u6587x|\n\n| | y",
       "HelloWORLD| it|'S| a|\u0301b| \u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r|\n|\tz|  "},
      {{"exaone-moe"},
       "It|'s| |1|2|3|4|5| Gr\u00f6\u00dfe|,\u4e2d\u6587x|\n\n| | y",
       "HelloWORLD it|'S| a\u0301b \u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r\n|\tz|  "},
      {{"qwen35"},
       "It|'s| |1|2|3|4|5| Gr\u00f6\u00dfe|,\u4e2d\u6587x|\n\n| | y",
       "HelloWORLD| it|'S| a\u0301b| \u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r\n|\tz|  "},
      {{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2", "granite-embed-multi-97m"},
       "It's| |123|45| Gr\u00f6\u00dfe|,\u4e2d\u6587x|\n\n| | y",
       "Hello|WORLD| it'S| a\u0301b| \u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r\n|\tz|  "},
      {{"tiny_aya", "cohere2moe"},
       "It's| |12|345| Gr\u00f6\u00dfe|,\u4e2d\u6587x|\n\n| | y",
       "Hello|WORLD| it'S| a\u0301b| \u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r\n|\tz|  "},
      {{"kimi-k2"},
       "It's| |123|45| Gr\u00f6\u00dfe|,|\u4e2d\u6587|x|\n\n| | y",
       "Hello|WORLD| it'S| a\u0301b| \u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r\n|\tz|  "},
      {{"youtu"},
       "It's| |1|2|3|4|5| Gr\u00f6\u00dfe|,|\u4e2d\u6587|x|\n\n| | y",
       "Hello|WORLD| it'S| a\u0301b| |\u30ab\u30bf|!| |\uff01\u3002|(|1|)[|2|]| \r\n|\tz|  "},
      {{"tekken"},
       "It|'s| |1|2|3|4|5| Gr\u00f6\u00dfe|,\u4e2d\u6587x|\n\n| | y",
       "Hello|WORLD| it|'S| a\u0301b| \u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r\n|\tz|  "},
      {{"chameleon"},
       "It|'|s| |1|2|3|4|5| Gr\u00f6\u00dfe|,|\u4e2d\u6587x|\n|\n|  |y",
       "HelloWORLD| it|'|S| a|\u0301|b| \u30ab\u30bf|!| |\uff01|\u3002|(|1|)|[|2|]| \r|\n|\t|z|  "},
      {{"poro-chat", "bloom", "gpt3-finnish"},
       "It's| 12345| Gr\u00f6\u00dfe|,|\u4e2d\u6587x|\n\n | y",
       "HelloWORLD| it'S| a\u0301b| \u30ab\u30bf|!| \uff01|\u3002(|1|)|[2]| \r\n\t|z|  "},
      {{"viking"},
       "It's| |1|2|3|4|5| Gr\u00f6\u00dfe|,|\u4e2d\u6587x|\n\n | y",
       "HelloWORLD| it'S| a\u0301b| \u30ab\u30bf|!| \uff01|\u3002(|1|)|[|2|]| \r\n\t|z|  "},
      {{"superbpe"},
       "It's |12|345| Gr\u00f6\u00dfe,\u4e2d\u6587x\n\n  y",
       "HelloWORLD it'S a\u0301b \u30ab\u30bf! \uff01\u3002(|1|)[|2|] \r\n\tz  "},
      {{"deepseek-llm"},
       "It|'|s| |1|2|3|4|5| Gr|\u00f6\u00df|e|,|\u4e2d\u6587|x|\n|\n| | y",
       "HelloWORLD| it|'|S| a|\u0301|b| |\u30ab\u30bf|!| \uff01|\u3002|(|1|)[|2|]| |\r|\n|\tz|  "},
      {{"deepseek-coder"},
       "It|'|s| |1|2|3|4|5| Gr\u00f6\u00dfe|,|\u4e2d\u6587|x|\n|\n| | y",
       "HelloWORLD| it|'|S| a|\u0301|b| |\u30ab\u30bf|!| \uff01|\u3002|(|1|)[|2|]| |\r|\n|\tz|  "},
      {{"deepseek-v3", "deepseek-r1", "hunyuan-dense", "joyai-llm", "hy_v4"},
       "It|'s| |123|45| Gr\u00f6\u00dfe|,|\u4e2d\u6587|x|\n\n| | y",
       "HelloWORLD| it|'S| a\u0301b| |\u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r\n|\tz|  "},
      {{"spark2_5"},
       "It|'s| |1|2|3|4|5| Gr\u00f6\u00dfe|,|\u4e2d\u6587|x|\n|\n| | y",
       "HelloWORLD| it|'S| a\u0301b| |\u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r\n|\tz|  "},
      {{"afmoe"},
       "It|'s| |12|345| Gr\u00f6\u00dfe|,|\u4e2d\u6587|x|\n\n| | y",
       "HelloWORLD| it|'S| a\u0301b| |\u30ab\u30bf|!| \uff01\u3002(|1|)[|2|]| \r\n|\tz|  "},
  };
  return rows;
}

TEST(GgufSplitters, CutAsTheModelsOwnTokenizersDo) {
  std::vector<std::string_view> names;
  for (const SplitterRow& row : splitter_rows()) {
    for (const std::string_view name : row.names) {
      const GgufSplitter* splitter = find_gguf_splitter(name);
      ASSERT_NE(splitter, nullptr) << name;
      EXPECT_EQ(cut_by(*splitter, kTexts[0]), row.first) << name;
      EXPECT_EQ(cut_by(*splitter, kTexts[1]), row.second) << name;
      names.push_back(name);
    }
  }
  for (const GgufSplitter& splitter : gguf_splitters())
    EXPECT_EQ(std::ranges::count(names, splitter.name), 1) << splitter.name;
}

TEST(GgufSplitters, AFileThatNamesNoneHasTheDefault) {
  EXPECT_EQ(find_gguf_splitter(""), find_gguf_splitter("default"));
  EXPECT_EQ(find_gguf_splitter("never-heard-of"), nullptr);
}

TEST(GgufSplitters, GroupsOfThreeDigitsCountFromTheEnd) {
  const auto afmoe = [](std::string_view text) { return cut_by(*find_gguf_splitter("afmoe"), text); };
  EXPECT_EQ(afmoe("1234567"), "1|234|567");
  EXPECT_EQ(afmoe("123456"), "123|456");
  EXPECT_EQ(cut_by(*find_gguf_splitter("superbpe"), "1234567a12"), "1|234|567|a|12");
}

}  // namespace
}  // namespace vitrine::tokenizer
