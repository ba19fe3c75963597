#include "loader/hf_directory.h"

#include "loader/expect_error.h"
#include "loader/json_file.h"
#include "loader/safetensors_builder.h"
#include "support/temp_dir.h"

namespace vitrine::loader {
namespace {

using base::ErrorKind::kBadFile;
using base::ErrorKind::kMissing;
using testing::TempDir;

std::string one_tensor(const std::string& name) {
  return safetensors_file("{\"" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
}

void write_model(const TempDir& directory) {
  directory.write("config.json", R"({"model_type":"llama"})");
  directory.write("model.safetensors", one_tensor("w"));
}

void write_shards(const TempDir& directory, std::string_view weight_map) {
  directory.write("config.json", R"({"model_type":"llama"})");
  directory.write("model-1.safetensors", one_tensor("a"));
  directory.write("model-2.safetensors", one_tensor("b"));
  directory.write("model.safetensors.index.json", R"({"metadata":{},"weight_map":)" + std::string(weight_map) + "}");
}

TEST(HfDirectory, OpensAFolderWithTheLeastFiles) {
  const TempDir directory;
  write_model(directory);
  auto model = open_hf_directory(directory.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->config.at("model_type"), "llama");
  EXPECT_TRUE(model->generation_config.empty());
  EXPECT_FALSE(model->chat_template);
  EXPECT_FALSE(model->tokenizer_json);
  EXPECT_NE(model->weights->find("w"), nullptr);
  EXPECT_TRUE(model->notes.empty());
}

TEST(HfDirectory, ReadsEveryFileThatIsThere) {
  const TempDir directory;
  write_model(directory);
  directory.write("generation_config.json", R"({"eos_token_id":[1,2]})");
  directory.write("tokenizer_config.json", R"({"chat_template":"from config"})");
  directory.write("tokenizer.json", "{}");
  auto model = open_hf_directory(directory.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->generation_config.at("eos_token_id").size(), 2U);
  EXPECT_EQ(model->chat_template, "from config");
  EXPECT_EQ(model->tokenizer_json, directory.path() / "tokenizer.json");
}

TEST(HfDirectory, TheTemplateFileWinsOverTheConfig) {
  const TempDir directory;
  write_model(directory);
  directory.write("tokenizer_config.json", R"({"chat_template":"from config"})");
  directory.write("chat_template.jinja", "from file");
  EXPECT_EQ(open_hf_directory(directory.path())->chat_template, "from file");
}

TEST(HfDirectory, OfNamedTemplatesTheDefaultIsTaken) {
  const auto config = nlohmann::json::parse(
      R"({"chat_template":[{"name":"tool_use","template":"t"},{"name":"default","template":"d"}]})");
  EXPECT_EQ(chat_template_of(config), "d");
  EXPECT_EQ(chat_template_of(nlohmann::json::parse(R"({"chat_template":null})")), std::nullopt);
  EXPECT_EQ(chat_template_of(nlohmann::json::parse(R"({"chat_template":[]})")), std::nullopt);
  for (const char* text : {R"({"chat_template":1})", R"({"chat_template":[1]})",
                           R"({"chat_template":[{"name":"x"},{}]})", R"({"chat_template":[{"name":"default"}]})"}) {
    EXPECT_THROW(chat_template_of(nlohmann::json::parse(text)), base::Exception) << text;
  }
}

TEST(HfDirectory, MissingFolderIsMissing) {
  expect_error(open_hf_directory("/nonexistent"), kMissing, "/nonexistent");
}

TEST(HfDirectory, FolderWithoutConfigIsNoModel) {
  const TempDir directory;
  expect_error(open_hf_directory(directory.path()), kBadFile, "config.json");
}

// Fault row 13: code inside a model folder.
TEST(HfDirectoryFaults, Row13AutoMapIsNotedOnceAndNeverRun) {
  const TempDir directory;
  write_model(directory);
  directory.write("config.json", R"({"auto_map":{"AutoModel":"evil.Model"}})");
  auto model = open_hf_directory(directory.path());
  ASSERT_TRUE(model);
  EXPECT_THAT(model->notes, ::testing::ElementsAre(::testing::HasSubstr("auto_map")));
}

TEST(HfDirectoryFaults, Row13PickleAloneIsRefused) {
  const TempDir directory;
  directory.write("config.json", "{}");
  directory.write("pytorch_model.bin", "PK");
  expect_error(open_hf_directory(directory.path()), kBadFile, "pytorch_model.bin");
}

TEST(HfDirectoryFaults, Row13PickleBesideSafetensorsIsIgnored) {
  const TempDir directory;
  write_model(directory);
  directory.write("pytorch_model.bin", "PK");
  EXPECT_TRUE(open_hf_directory(directory.path()));
}

TEST(HfDirectory, FolderWithoutWeightsIsRefused) {
  const TempDir directory;
  directory.write("config.json", "{}");
  expect_error(open_hf_directory(directory.path()), kBadFile, "no weights");
}

TEST(HfDirectory, OpensShards) {
  const TempDir directory;
  write_shards(directory, R"({"a":"model-1.safetensors","b":"model-2.safetensors"})");
  auto model = open_hf_directory(directory.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->weights->tensors().size(), 2U);
  EXPECT_NE(model->weights->find("b"), nullptr);
}

TEST(HfDirectory, RefusesAnIndexThatPromisesATensorItHasNot) {
  const TempDir directory;
  write_shards(directory, R"({"a":"model-1.safetensors","c":"model-2.safetensors"})");
  expect_error(open_hf_directory(directory.path()), kBadFile, "tensor \"c\" is not in model-2.safetensors");
}

TEST(HfDirectory, MissingShardIsMissingByName) {
  const TempDir directory;
  write_shards(directory, R"({"a":"model-1.safetensors","b":"model-9.safetensors"})");
  expect_error(open_hf_directory(directory.path()), kMissing, "model-9.safetensors");
}

TEST(HfDirectory, RefusesShardsOutsideTheFolder) {
  for (const char* name : {"../model-1.safetensors", "/etc/passwd", "a/b.safetensors", ".hidden.safetensors",
                           "model-1.bin", "", "a\\\\b.safetensors", "a\\u0000.safetensors"}) {
    const TempDir directory;
    write_shards(directory, R"({"a":")" + std::string(name) + "\"}");
    expect_error(open_hf_directory(directory.path()), kBadFile, "weight_map");
  }
}

TEST(HfDirectory, RefusesAnIndexOfAnotherForm) {
  for (const char* weight_map : {"{}", "[]", "1", R"({"a":1})", R"({"a":null})"}) {
    const TempDir directory;
    write_shards(directory, weight_map);
    expect_error(open_hf_directory(directory.path()), kBadFile, "weight_map");
  }
}

TEST(HfDirectory, OneTensorInTwoShardsIsRefused) {
  const TempDir directory;
  write_shards(directory, R"({"a":"model-1.safetensors","b":"model-2.safetensors"})");
  directory.write("model-2.safetensors", one_tensor("a"));
  expect_error(open_hf_directory(directory.path()), kBadFile, "more than once");
}

TEST(HfDirectory, SaysWhichJsonFileIsBroken) {
  for (const char* name : {"config.json", "generation_config.json", "tokenizer_config.json"}) {
    const TempDir directory;
    write_model(directory);
    directory.write(name, "{\"a\":");
    expect_error(open_hf_directory(directory.path()), kBadFile, std::string(name) + ": not valid JSON");
  }
}

TEST(HfDirectory, RefusesATemplateThatIsNotText) {
  const TempDir directory;
  write_model(directory);
  directory.write("chat_template.jinja", "\xff\xfe");
  expect_error(open_hf_directory(directory.path()), kBadFile, "chat_template.jinja");
}

base::Result<nlohmann::json> parse_json(const std::string& text, const JsonLimits& limits = {}) {
  return catch_result([&] { return parse_json_object(text, limits); });
}

TEST(JsonFile, BoundsDepthValuesAndBytes) {
  const auto nested = [](std::size_t depth) {
    return R"({"a":)" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(parse_json(nested(64)));
  expect_error(parse_json(nested(65)), kBadFile, "nested more than 64 deep");
  expect_error(parse_json(nested(100'000)), kBadFile, "nested more than 64 deep");
  expect_error(parse_json(R"({"a":[1,2,3]})", {.max_values = 4}), kBadFile, "more than 4 values");
  expect_error(parse_json(R"({"a":1})", {.max_bytes = 5}), kBadFile, "at most 5");
}

TEST(JsonFile, BracketsInStringsDoNotCount) {
  EXPECT_TRUE(parse_json(R"({"a":"[[[[\"[[[{{{,,,"})", {.max_depth = 1, .max_values = 2}));
}

TEST(JsonFile, BrokenTextIsAnErrorAndNeverAnotherException) {
  for (const char* text : {"", "nul", "[]", "1", "{\"a\":\"\\ud800\"}", "{\"\xff\":1}", "{\"a\":1e999}", "{\"a\":1}x",
                           "{\"a\":NaN}", "{\"a\":\"\\", "{\"a\":\"\n\"}"}) {
    expect_error(parse_json(text), kBadFile, "JSON");
  }
}

}  // namespace
}  // namespace vitrine::loader
