#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "loader/weight_source.h"

namespace vitrine::loader {

// A model folder as Hugging Face tools write it. The three JSON values are objects; empty where the file is absent
// (config.json must be there). tokenizer.json is only located: it is large and the tokenizer reads it.
struct HfModel {
  nlohmann::json config;
  nlohmann::json generation_config;
  nlohmann::json tokenizer_config;
  std::optional<std::filesystem::path> tokenizer_json;
  std::optional<std::string> chat_template;  // UTF-8
  std::unique_ptr<WeightSource> weights;
  std::vector<std::string> notes;  // what was left out or ignored, a sentence each
};

// Reads config.json, generation_config.json, tokenizer_config.json and chat_template.jinja, and maps
// model.safetensors, or the shards that model.safetensors.index.json names. Only safetensors are read: never a pickle,
// never the code that "auto_map" names. kMissing names a file that is absent; kBadFile says what is wrong with which.
base::Result<HfModel> open_hf_directory(const std::filesystem::path& directory);

// The template in a tokenizer_config.json: a string, or a list of {"name", "template"} from which "default" is taken.
// nullopt when there is none. Throws base::Exception (kBadFile, without a file name) when it has another form.
std::optional<std::string> chat_template_of(const nlohmann::json& tokenizer_config);

}  // namespace vitrine::loader
