#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "chat/chat_template.h"
#include "engine/engine_thread.h"
#include "explain/report.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::server {

// A model that is ready to answer, as the server sees it. What it points to lives as long as its LoadedModel.
struct ServedModel {
  std::string name;                                   // by which clients ask for it
  const tokenizer::Tokenizer* tokenizer = nullptr;    // null: the model brings none, and only token ids are understood
  const chat::ChatTemplate* chat_template = nullptr;  // null: no chat completions
  nlohmann::ordered_json special_tokens;              // as the template sees them
  engine::EngineThread* engine = nullptr;
  const models::Model* model = nullptr;              // by which the engine computes
  const base::MemoryLedger* ledger = nullptr;        // what it holds; may be null
  std::vector<std::string> kernels = {};             // how it is computed, in words
  std::function<explain::Roof()> measure_roof = {};  // wants the engine's cores; may be empty
  std::vector<TokenId> end_tokens;
};

// A loaded model; its memory is free again when this dies.
class LoadedModel {
 public:
  virtual ~LoadedModel() = default;
  virtual const ServedModel& served() const = 0;
  virtual std::size_t memory_bytes() const = 0;  // that it holds now; any thread
};

}  // namespace vitrine::server
