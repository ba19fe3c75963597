#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/reference_data.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_files.h"

// GGUF vocabularies against llama.cpp, as far as it is the only reference or gives what the model's own tokenizer
// gives.
namespace vitrine::tokenizer {
namespace {

using nlohmann::json;
using Ids = std::vector<TokenId>;

struct GgufRow {
  const char* vocabulary;      // the file in vocabularies/
  const char* vectors;         // of tokenizers_llamacpp/
  const char* own = nullptr;   // the model's own tokenizer among the references: what differs there is not asked for
  const char* twin = nullptr;  // vectors of a vocabulary of the same family, to be held against `own` in its place
  std::vector<int> left_out = {};  // cases where the model's own tokenizer is known to do otherwise
};

std::ostream& operator<<(std::ostream& out, const GgufRow& row) {
  return out << row.vectors;
}

class GgufReference : public ::testing::TestWithParam<GgufRow> {
 protected:
  void SetUp() override {
    tokenizer_ = testing::shared_tokenizer(fmt::format("vocabularies/{}", GetParam().vocabulary));
    if (tokenizer_ == nullptr) {
      testing::count_skipped("tokenizers, GGUF", 1, fmt::format("{} was not fetched", GetParam().vocabulary));
      VT_SKIP_WITHOUT("the GGUF vocabularies; run scripts/fetch_tokenizers.sh");
    }
    const auto path = testing::reference_path(fmt::format("tokenizers_llamacpp/{}.json", GetParam().vectors));
    if (!path) VT_SKIP_WITHOUT("the reference data (../shared/reference)");
    data_ = testing::read_json(*path);
    for (const json& entry : testing::read_json(testing::data_path("corpus.json"))) {
      texts_[entry["id"]] = entry.contains("text") ? std::optional(entry["text"].get<std::string>()) : std::nullopt;
    }
    if (GetParam().own != nullptr) leave_out_what_differs();
    left_out_.insert(GetParam().left_out.begin(), GetParam().left_out.end());
  }

  void leave_out_what_differs() {
    auto path = testing::data_path(fmt::format("tokenizers/{}.json", GetParam().own));
    if (!std::filesystem::exists(path)) {
      path = testing::reference_path(fmt::format("tokenizers/{}.json", GetParam().own)).value();
    }
    const json own = testing::read_json(path);
    std::map<int, std::array<json, 2>> expected;
    for (const json& row : own["cases"])
      expected[row[0]] = {row[1], row[2].is_null() ? row[1] : row[2]};
    json vectors = data_;
    if (GetParam().twin != nullptr) {
      vectors = testing::read_json(
          testing::reference_path(fmt::format("tokenizers_llamacpp/{}.json", GetParam().twin)).value());
    }
    for (const json& row : vectors["cases"]) {
      const auto found = expected.find(row[0]);
      if (found == expected.end()) continue;
      const json& unparsed = row[2].is_array() ? row[2] : row[1];
      if (found->second[0] != row[1] || found->second[1] != unparsed) left_out_.insert(row[0].get<int>());
    }
  }

  Ids encode(const std::string& text, bool parse_special) const {
    return tokenizer_->encode(text, {.parse_special = parse_special}).value_or_throw();
  }

  const Tokenizer* tokenizer_ = nullptr;
  json data_;
  std::map<int, std::optional<std::string>> texts_;
  std::set<int> left_out_;
};

TEST_P(GgufReference, EncodesTheCorpus) {
  std::size_t num_cases = 0;
  for (const json& row : data_["cases"]) {
    const std::optional<std::string>& text = texts_.at(row[0]);
    if (!text || !row[1].is_array() || left_out_.contains(row[0])) continue;
    const auto ids = tokenizer_->encode(*text, {.parse_special = true});
    if (!ids) {  // llama.cpp drops what a vocabulary has no token for
      EXPECT_THAT(ids.error().message, ::testing::HasSubstr("no token for the byte")) << *text;
      continue;
    }
    const json& unparsed = row[2].is_array() ? row[2] : row[1];
    EXPECT_EQ(*ids, row[1].get<Ids>()) << "case " << row[0] << ": " << *text;
    EXPECT_EQ(encode(*text, false), unparsed.get<Ids>()) << "case " << row[0] << ": " << *text;
    ++num_cases;
  }
  EXPECT_GT(num_cases, 250U);
  testing::count_cases("tokenizers, GGUF", num_cases);
}

TEST_P(GgufReference, AddsItsSpecialTokens) {
  Ids expected = data_["meta"]["add_pre"];
  const Ids bare = encode("hello", true);
  expected.insert(expected.end(), bare.begin(), bare.end());
  for (const json& id : data_["meta"]["add_post"])
    expected.push_back(id);
  EXPECT_EQ(tokenizer_->encode("hello", {.add_special = true}).value_or_throw(), expected);
}

const GgufRow kRows[] = {
    {"gpt-2", "gpt2", "tiktoken_r50k_base"},
    {"llama-bpe", "llama_bpe", "llama3_1"},
    {"qwen2", "qwen2", "qwen3"},
    // NFC and "</s>" as plain text, as with Qwen3.
    {"qwen35", "qwen35", "qwen3", "qwen2"},
    // llama.cpp takes the spaces behind "</s>" along, and never finds it where special tokens stay text.
    {"phi-3", "phi3", nullptr, nullptr, {353, 380, 381, 385}},
    {"baichuan", "baichuan"},
    {"falcon", "falcon"},
    {"starcoder", "starcoder"},
    {"refact", "refact"},
    {"command-r", "command_r"},
    {"mpt", "mpt"},
    {"deepseek-coder", "deepseek_coder"},
    {"deepseek-llm", "deepseek_llm"},
    // These two name no splitter. The first has "<|endoftext|>" as a piece like others, and llama.cpp knows it by name.
    {"aquila", "aquila", nullptr, nullptr, {362, 363}},
    {"gpt-neox", "gpt_neox"},
    {"gemma-4", "gemma4"},
    // BERT's own tokenizer keeps all letters of a decomposed character and the marks that take room (Mc), and a word of
    // more than 100 characters is unknown; llama.cpp does otherwise.
    {"bert-bge", "bert_bge", nullptr, nullptr, {196, 197, 198, 206, 207, 210, 238, 253, 279, 280, 282, 288}},
    {"nomic-bert-moe", "nomic_bert_moe"},
};

INSTANTIATE_TEST_SUITE_P(Published, GgufReference, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.vectors); });

}  // namespace
}  // namespace vitrine::tokenizer
