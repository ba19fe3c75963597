#pragma once

#include <filesystem>
#include <variant>

#include "base/result.h"
#include "loader/gguf.h"
#include "loader/hf_directory.h"

namespace vitrine::loader {

using ModelFiles = std::variant<GgufModel, HfModel>;

// Opens whatever model lies at `path`, told by its content and not its name: a GGUF file, any part of a split one, a
// Hugging Face folder, or a folder whose only model is one GGUF. kMissing when there is nothing; kBadFile with the
// reason for all that is no model, among it the kinds that are known and refused (pickles, old GGML files, lone
// safetensors).
base::Result<ModelFiles> open_model_files(const std::filesystem::path& path);

}  // namespace vitrine::loader
