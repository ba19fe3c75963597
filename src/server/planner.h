#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <nlohmann/json.hpp>

#include "ops/memory_model.h"

namespace vitrine::server {

// For what the planner plans, as the program tells it: the server itself knows no backend.
struct PlanMachine {
  std::shared_ptr<const ops::MemoryModel> backend = {};  // null: this server has no planner
  std::size_t num_threads = 1;
  std::size_t max_chunk_tokens = 512;
  // The "machine" of the answer, with its available_memory_bytes at this moment. Any thread.
  std::function<nlohmann::ordered_json()> describe = {};
};

}  // namespace vitrine::server
