#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "loader/gguf.h"
#include "tokenizer/tokenizer.h"

// The published tokenizer files that the reference vectors were made with. scripts/fetch_tokenizers.sh puts them into
// build/tokenizer-files; $VITRINE_TOKENIZER_FILES names another folder.
namespace vitrine::testing {

// The tokenizer file in DIR/NAME, or DIR/NAME.gguf; nullopt where it was not fetched.
std::optional<std::filesystem::path> tokenizer_file(const std::string& name);

// Opens it; a failure is a failure of the test, and gives nullptr.
std::unique_ptr<tokenizer::Tokenizer> open_tokenizer(const std::filesystem::path& path);

// The keys tokenizer.ggml.* of a GGUF file; views into its mapping.
tokenizer::GgufVocabulary gguf_vocabulary(const loader::Metadata& metadata);

// The tokenizer of that name, opened once per test program; nullptr where its file was not fetched.
const tokenizer::Tokenizer* shared_tokenizer(const std::string& name);

}  // namespace vitrine::testing
