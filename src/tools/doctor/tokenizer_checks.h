#pragma once

#include <string>
#include <string_view>

#include "tokenizer/tokenizer.h"
#include "tools/doctor/check.h"

namespace vitrine::doctor {

// The first 16 digits of a SHA-256 over all tokens, their spelling and which of them are special: two models with the
// same one can share prompts of ids.
std::string tokenizer_fingerprint(const tokenizer::Tokenizer& tokenizer);

// Whether texts come back from their ids as they were.
Check check_tokenizer(const tokenizer::Tokenizer& tokenizer);

// What is known of llama.cpp's ids for the tokenizer that a GGUF file names, against those of the reference that the
// model was trained with, which Vitrine gives. `model` and `pre` are tokenizer.ggml.model and .pre.
Check check_llama_cpp(std::string_view architecture, std::string_view model, std::string_view pre);

}  // namespace vitrine::doctor
