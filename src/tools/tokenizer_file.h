#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "base/result.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::tools {

// The tokenizer file that `path` is, or that lies in the folder `path` under the name that publishers give it:
// tokenizer.json, tekken.json, tokenizer.model, ENCODING.tiktoken. nullopt where there is none; a GGUF file is none.
std::optional<std::filesystem::path> find_tokenizer_file(const std::filesystem::path& path);

// Opens it by its kind: Hugging Face's tokenizer.json (with tokenizer_config.json beside it, if that is there),
// Mistral's tekken, a SentencePiece model (*.model, *.model.v3), or NAME.tiktoken with NAME one of
// tokenizer::tiktoken_encodings. kMissing or kBadFile, naming the file.
base::Result<std::unique_ptr<tokenizer::Tokenizer>> open_tokenizer_file(const std::filesystem::path& path);

}  // namespace vitrine::tools
