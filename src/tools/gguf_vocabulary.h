#pragma once

#include <optional>

#include "base/result.h"
#include "loader/metadata.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::tools {

// The tokenizer.ggml.* keys as the tokenizer takes them; views into the mapped file. nullopt where the file has no
// tokenizer at all; kBadFile, naming the key, for a wrong type or range.
base::Result<std::optional<tokenizer::GgufVocabulary>> read_gguf_vocabulary(const loader::Metadata& metadata);

}  // namespace vitrine::tools
