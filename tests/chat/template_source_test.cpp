#include "chat/template_source.h"

#include <gtest/gtest.h>

namespace vitrine::chat {
namespace {

using Json = nlohmann::ordered_json;

void expect_error(std::string_view config, std::string_view message) {
  const auto source = parse_tokenizer_config(config);
  ASSERT_FALSE(source) << config;
  EXPECT_EQ(source.error().kind, base::ErrorKind::kBadFile) << config;
  EXPECT_EQ(source.error().message, message) << config;
}

TEST(TemplateSource, IsAString) {
  EXPECT_EQ(parse_tokenizer_config(R"({"chat_template": "a\n"})")->source, "a\n");
}

TEST(TemplateSource, IsTheDefaultOfSeveral) {
  EXPECT_EQ(parse_tokenizer_config(
                R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]})")
                ->source,
            "d");
}

TEST(TemplateSource, MayBeMissing) {
  EXPECT_EQ(parse_tokenizer_config("{}")->source, "");
  EXPECT_EQ(parse_tokenizer_config(R"({"chat_template": null})")->source, "");
}

TEST(TemplateSource, SpecialTokensAreStringsOrObjectsWithTheirContent) {
  const auto source = parse_tokenizer_config(
      R"({"eos_token": {"content": "</s>", "lstrip": false}, "bos_token": "<s>", "pad_token": null, "unk_token": 1,
          "cls_token": {"text": "x"}, "model_max_length": 512})");
  EXPECT_EQ(source->special_tokens, (Json{{"bos_token", "<s>"}, {"eos_token", "</s>"}}));
}

TEST(TemplateSource, OtherFormsAreRefused) {
  expect_error("[]", "tokenizer_config.json: must be a JSON object");
  expect_error("{", "tokenizer_config.json: is not JSON (byte 2)");
  expect_error(R"({"chat_template": 1})", "tokenizer_config.json: chat_template must be a string or an array");
  expect_error(R"({"chat_template": []})", "tokenizer_config.json: chat_template has no entry named \"default\"");
  expect_error(R"({"chat_template": [1, {"name": "default"}, {"template": "x"}]})",
               "tokenizer_config.json: chat_template has no entry named \"default\"");
}

}  // namespace
}  // namespace vitrine::chat
