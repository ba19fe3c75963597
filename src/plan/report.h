#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plan/formula.h"
#include "plan/memory.h"
#include "plan/network.h"
#include "plan/speed.h"

namespace vitrine::plan {

// What a plan is about.
struct PlanSubject {
  std::string name;
  std::string weights;  // "q4_k_m", or where the file lies
  std::string note;     // what a person should know; may be empty
  Network network;
};
// A known shape with weights of that type. Throws base::Exception (kUsage) for a type that there is not.
PlanSubject subject_of(const ModelShape& shape, const std::string& type);

// What is asked of it. Each list has one entry or more.
struct PlanQuestion {
  std::vector<std::size_t> context_lengths;  // tokens
  std::vector<std::size_t> batches;          // sequences at once, each as long
  std::vector<tensor::DType> kv_types;
  std::size_t max_chunk_tokens = 512;  // prompt rows of a step
  std::size_t num_threads = 1;
  std::size_t available_bytes = 0;
};

// One line of a plan.
struct PlanRow {
  std::size_t context_length = 0;
  std::size_t batch = 0;
  tensor::DType kv_type = tensor::DType::kF16;
  Memory memory;
  bool fits = false;
  std::size_t max_context = 0;  // tokens that fit with this batch, at most the model's own
  std::size_t max_batch = 0;    // sequences that fit with this context
  KvFormula formula;
  std::optional<Speed> speed;
};

// A row for each type, batch and context, in that order of loops. Throws base::Exception (kUsage) for a type that the
// model's heads do not fit, and for sizes whose sums no longer fit 64 bits.
std::vector<PlanRow> plan_rows(const Network& network, const ops::MemoryModel& backend, const PlanQuestion& question);
nlohmann::ordered_json to_json(const PlanRow& row);

// What `vitrine plan` and the server's planner answer.
struct PlanReport {
  const PlanSubject& subject;
  std::vector<PlanRow> rows;
  std::optional<MachineRates> rates;  // as measured; absent: speeds are left out
};
// `machine` is an object that says what the plan is for; what was measured there is added to it.
nlohmann::ordered_json to_json(const PlanReport& report, nlohmann::ordered_json machine);

}  // namespace vitrine::plan
