#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "loader/gguf_writer.h"

namespace vitrine::tools {

// A byte-level BPE vocabulary of any size from 512 on that means nothing but encodes every text: the 256 bytes, tokens
// that are an earlier token and one byte more, and three control tokens at the end.
struct SynthVocabulary {
  std::vector<std::string> tokens;  // [size], in the spelling of byte-level vocabularies
  std::vector<std::string> merges;  // "left right"
  std::size_t end_of_text = 0;
  std::size_t turn_start = 0;
  std::size_t turn_end = 0;
};
SynthVocabulary synth_vocabulary(std::size_t size);

// The tokenizer.ggml keys, with a ChatML template.
void add_synth_tokenizer(loader::GgufOutline& outline, std::size_t vocab_size);

}  // namespace vitrine::tools
