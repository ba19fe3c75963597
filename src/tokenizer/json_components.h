#pragma once

#include "tokenizer/json_node.h"
#include "tokenizer/tokenizer_parts.h"

// The small sections of tokenizer.json. Each reader throws base::Exception for what is broken or not supported, naming
// the JSON path.
namespace vitrine::tokenizer {

void read_normalizer(const JsonNode& node, Normalizer& normalizer);

// Answers whether the pieces are yet to be spelled in the byte alphabet, by a step or by a byte-level model.
bool read_pre_tokenizer(const JsonNode& node, PreTokenizer& pre_tokenizer);

void read_decoder(const JsonNode& node, DecodeRules& rules);

// Ids that add_special puts before and behind a text.
void read_post_processor(const JsonNode& node, TokenizerParts& parts);

void read_added_tokens(const JsonNode& node, TokenizerParts& parts);

// bos_token, eos_token ... of tokenizer_config.json.
void read_special_ids(const JsonNode& config, TokenizerParts& parts);

}  // namespace vitrine::tokenizer
