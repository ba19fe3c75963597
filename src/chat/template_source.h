#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace vitrine::chat {

// What a model's files say about its chat template.
struct TemplateSource {
  std::string source;                     // empty: the file has no template
  nlohmann::ordered_json special_tokens;  // an object: bos_token, eos_token, ... as the template sees them
};

// From the text of a tokenizer_config.json. Of several named templates the one called "default" is taken. Fails with
// kBadFile.
base::Result<TemplateSource> parse_tokenizer_config(std::string_view text);

}  // namespace vitrine::chat
