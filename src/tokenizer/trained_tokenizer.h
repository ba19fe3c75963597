#pragma once

#include <string>

#include "tokenizer/bpe_trainer.h"
#include "tokenizer/known_patterns.h"

namespace vitrine::tokenizer {

// A trained vocabulary as a tokenizer.json in the format of Hugging Face's tokenizers, which Tokenizer reads as well.
// It splits as `splitter` does, one of word_splitters().
std::string to_tokenizer_json(const TrainedBpe& trained, const KnownPattern& splitter);

}  // namespace vitrine::tokenizer
