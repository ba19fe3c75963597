#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "chat/chat_template.h"
#include "engine/engine_thread.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::server {

// A model that is ready to answer, as the server sees it. What it points to belongs to the program and outlives the
// server.
struct ServedModel {
  std::string name;                                   // by which clients ask for it
  std::vector<std::string> aliases;                   // further names
  std::int64_t created = 0;                           // seconds since 1970
  const tokenizer::Tokenizer* tokenizer = nullptr;    // null: the model brings none, and only token ids are understood
  const chat::ChatTemplate* chat_template = nullptr;  // null: no chat completions
  nlohmann::ordered_json special_tokens;              // as the template sees them
  engine::EngineThread* engine = nullptr;
  std::vector<TokenId> end_tokens;

  bool is_called(std::string_view wanted) const;
};

}  // namespace vitrine::server
