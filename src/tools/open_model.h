#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "loader/model_files.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::tools {

// An opened model: header and weights mapped, tokenizer built. Nothing of the weights is read. Move-only; may be read
// from any thread.
struct ModelBundle {
  std::filesystem::path path;
  loader::ModelFiles files;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;  // null where the model brings none: it can be used by ids only
  std::optional<std::string> chat_template;         // Jinja source
  nlohmann::ordered_json special_tokens;            // bos_token, eos_token, ... as a chat template sees them
  std::vector<std::string> notes;                   // what was left out or ignored, a sentence each

  const loader::WeightSource& weights() const;
};

// Opens what lies at `path` (a GGUF file, any part of a split one, a Hugging Face folder). kMissing or kBadFile, naming
// the file and the field.
base::Result<ModelBundle> open_model(const std::filesystem::path& path);

// The tokenizer of a model alone: as open_model, but a tokenizer file by itself, or a folder with no more than that,
// will do as well (see tokenizer_file.h). kBadFile where there is none.
base::Result<std::unique_ptr<tokenizer::Tokenizer>> open_tokenizer(const std::filesystem::path& path);

// The facts that every file states about itself.
struct ModelFacts {
  std::string architecture;
  std::uint64_t num_parameters = 0;
  std::optional<std::uint64_t> context_length;  // tokens
};
ModelFacts facts_of(const loader::ModelFiles& files);

}  // namespace vitrine::tools
