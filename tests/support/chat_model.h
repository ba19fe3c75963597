#pragma once

#include <string>

#include "support/temp_dir.h"

namespace vitrine::testing {

// A model that can chat and answers at once: the tiny Llama of tests/data with a tokenizer of single bytes, a template
// and room for kContextTokens. What it says is noise, but always the same noise. Its files live as long as it does.
class ChatModel {
 public:
  static constexpr int kContextTokens = 1 << 20;
  static constexpr int kStartId = 256;  // <|im_start|>
  static constexpr int kEndId = 257;    // <|im_end|>
  static constexpr int kNanId = 319;    // see below

  // With `has_nan_token` the embedding of kNanId is not a number, and so is all that is computed from it.
  explicit ChatModel(bool has_nan_token = false);
  std::string path() const;

 private:
  TempDir folder_;
};

}  // namespace vitrine::testing
