#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "tokenizer/model.h"
#include "tokenizer/tokenizer_parts.h"

namespace vitrine::tokenizer {

// Puts a token of a ranked vocabulary at `id`, spelled in the byte alphabet.
base::Result<void> add_ranked_token(Vocabulary& vocabulary, TokenId id, std::string_view bytes);

// Byte-level BPE whose file lists no merges but tokens in the order of their ranks, as tiktoken's and Mistral's tekken
// files do: two neighbours merge where their joint bytes are a token, the lowest rank first. `vocabulary` holds the
// ranked tokens alone, ids in the order of ranks, and must outlive the model.
std::unique_ptr<Model> make_ranked_bpe(const Vocabulary& vocabulary);

}  // namespace vitrine::tokenizer
