#pragma once

#include <string>
#include <vector>

#include "base/token_id.h"
#include "server/openai/fields.h"
#include "server/served_model.h"

namespace vitrine::server {

inline constexpr std::size_t kMaxPrompts = 64;

// An array of token ids. Throws ApiException (400) naming `param`; whether they are in the vocabulary is the engine's
// question.
std::vector<TokenId> read_token_ids(const nlohmann::ordered_json& array, const std::string& param);

// Where texts stand in a body.
struct PromptField {
  std::string param = "prompt";
  std::size_t max_count = kMaxPrompts;
};

// The field's member: a string, an array of strings, an array of token ids, or an array of such arrays. Texts are
// encoded with what the model wants around a prompt; special tokens written in them are understood, since a client of
// this endpoint writes its own template. Throws ApiException (400).
std::vector<std::vector<TokenId>> read_text_prompts(Fields& fields, const ServedModel& model,
                                                    const PromptField& field = {});

// The prompts as text, for `echo`: as they were given, or decoded where they were ids.
std::vector<std::string> echo_texts(Fields& fields, const std::vector<std::vector<TokenId>>& prompts,
                                    const ServedModel& model);

}  // namespace vitrine::server
