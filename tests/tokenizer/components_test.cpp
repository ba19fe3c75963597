#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/base64.h"
#include "base/utf8.h"
#include "support/reference_data.h"
#include "tokenizer/tokenizer.h"

// Small tokenizers of every component (scripts/make_tokenizer_components.py) against what their own engines give.
// $VITRINE_COMPONENTS names another file of the same kind.
namespace vitrine::tokenizer {
namespace {

using nlohmann::json;
using TokenIds = std::vector<TokenId>;

const json& component_files() {
  static const json data = [] {
    const char* path = std::getenv("VITRINE_COMPONENTS");
    return testing::read_json(path != nullptr ? std::filesystem::path(path)
                                              : testing::data_path("tokenizers/components.json"));
  }();
  return data["files"];
}

std::unique_ptr<Tokenizer> open_component(const json& file) {
  if (!file.contains("model")) return Tokenizer::from_tokenizer_json(file["tokenizer"].dump(), "").value_or_throw();
  const auto model = base::decode_base64(file["model"].get<std::string>());
  return Tokenizer::from_sentencepiece(*model).value_or_throw();
}

// A stream may have given out the first characters of a run of byte tokens that turns out to be broken.
bool may_take_back(const json& file) {
  return file.dump().find("\"ByteFallback\"") != std::string::npos;
}

// SentencePiece never looks for its control pieces in text, nor puts any around it.
EncodeOptions options_for(const json& file) {
  const bool is_sentencepiece = file.contains("model");
  return {.parse_special = !is_sentencepiece, .add_special = !is_sentencepiece};
}

TEST(Components, EncodeAsTheirEnginesDo) {
  std::size_t num_cases = 0;
  for (const auto& [name, file] : component_files().items()) {
    const auto tokenizer = open_component(file);
    for (const json& row : file["cases"]) {
      const std::string text = row[0];
      const auto ids = tokenizer->encode(text, options_for(file));
      ASSERT_TRUE(ids) << name << ": " << ids.error().message;
      EXPECT_EQ(*ids, row[1].get<TokenIds>()) << name << ": " << row[0];
      ++num_cases;
    }
  }
  testing::count_cases("components, texts", num_cases);
}

TEST(Components, OffsetsAreThoseOfTheirEngines) {
  for (const auto& [name, file] : component_files().items()) {
    const auto tokenizer = open_component(file);
    for (const json& row : file["cases"]) {
      const auto tokens = tokenizer->encode_with_offsets(row[0].get<std::string>(), options_for(file)).value_or_throw();
      TokenIds ids;
      json offsets = json::array();
      for (const EncodedToken& token : tokens) {
        ids.push_back(token.id);
        const bool is_around = token.start == token.end;  // theirs stand at the beginning
        offsets.push_back(is_around ? json({0, 0}) : json({token.start, token.end}));
      }
      EXPECT_EQ(ids, row[1].get<TokenIds>()) << name << ": " << row[0];
      const json& expected = row[2].is_null() ? offsets : row[2];
      EXPECT_EQ(offsets, expected) << name << ": " << row[0];
    }
  }
}

TEST(Components, DecodeAndStreamAsTheirEnginesDo) {
  std::size_t num_cases = 0;
  for (const auto& [name, file] : component_files().items()) {
    const auto tokenizer = open_component(file);
    const bool takes_back = may_take_back(file);
    for (const json& row : file["decodes"]) {
      const TokenIds ids = row[0];
      const std::string text = row[1];
      EXPECT_EQ(tokenizer->decode(ids), text) << name << ": " << row[0];
      const std::string bare = tokenizer->decode(ids, true);
      EXPECT_EQ(bare, row[2].is_null() ? bare : row[2].get<std::string>()) << name << ": " << row[0];
      Detokenizer stream(*tokenizer, false);
      std::string joined;
      for (const TokenId id : ids) {
        const std::string delta = stream.push(id);
        EXPECT_TRUE(base::is_valid_utf8(delta)) << name << ": " << row[0];
        joined += delta;
      }
      joined += stream.finish();
      const bool is_broken = takes_back && text.find("\uFFFD") != std::string::npos;
      const std::string& expected = is_broken ? joined : text;
      EXPECT_EQ(joined, expected) << name << ": " << row[0];
      ++num_cases;
    }
  }
  testing::count_cases("components, decoded", num_cases);
}

}  // namespace
}  // namespace vitrine::tokenizer
