#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/decoder.h"
#include "tokenizer/model.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace vitrine::tokenizer {

// The ids with a meaning of their own.
struct SpecialIds {
  std::optional<TokenId> bos, eos, unk, pad;
  std::vector<TokenId> end_of_generation;  // sorted; a model that says one of these has finished
};

// What a tokenizer is made of; the two readers of files fill it, Tokenizer runs it.
struct TokenizerParts {
  std::unique_ptr<Vocabulary> vocabulary = std::make_unique<Vocabulary>();  // the model refers to it
  std::unique_ptr<Model> model;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  AddedTokenMatcher raw_matcher;         // on the text as it comes
  AddedTokenMatcher normalized_matcher;  // on the text between those, normalized
  std::unordered_map<std::string, TokenId> added_ids;
  std::vector<bool> is_special;  // by id
  DecodeRules decode_rules;
  std::vector<TokenId> prefix_ids, suffix_ids;  // what add_special puts around the tokens
  SpecialIds ids;
  // One U+FFFD for every byte that is not UTF-8 (SentencePiece) rather than for every maximal subpart.
  bool replaces_single_bytes = false;
};

// Puts an added token into the vocabulary (if it is not there), the matchers and the table of special ids.
base::Result<void> add_token(TokenizerParts& parts, const AddedToken& token);

// Adds what is known by name to end an answer ("<|im_end|>", "<|eot_id|>" ...) and sorts the list.
void complete_end_of_generation(TokenizerParts& parts);

}  // namespace vitrine::tokenizer
