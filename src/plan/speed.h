#pragma once

#include <cstddef>

#include "models/model_config.h"
#include "ops/memory_model.h"
#include "plan/network.h"

namespace vitrine::plan {

// What a step of decoding reads: the weights that are always used, and those of which a token chooses some.
struct StepReads {
  double always_bytes = 0.0;
  double expert_bytes = 0.0;
};
StepReads step_reads(const Network& network, const ops::MemoryModel& backend);

// Bytes that one step reads: the weights once (of experts those that `batch` tokens are expected to choose where the
// router favours none), and what is kept of every sequence's `length` tokens, windowed layers by their window.
double bytes_of_step(const StepReads& reads, const models::ExpertConfig& experts, double kv_bytes, std::size_t batch);

// Multiplications and additions for one more token that sees `length` tokens, itself included: 2 for each weight that
// it is multiplied with, and for each channel of each query head 2 for the score and 2 for the sum.
double flops_of_token(const Network& network, double length);
// The mean over a prompt of so many tokens. The head is computed for the last one only.
double mean_prompt_flops(const Network& network, std::size_t num_tokens);

// What this machine was measured to do.
struct MachineRates {
  double read_bytes_per_s = 0.0;
  double prompt_flops_per_s = 0.0;     // many rows at once
  double generated_flops_per_s = 0.0;  // as many rows as sequences
};

// Tokens per second of all sequences together. A forecast: what the machine could do at best were reading and
// multiplying all there is to it.
struct Speed {
  double prefill_tokens_per_s = 0.0;
  double decode_tokens_per_s = 0.0;
};
Speed forecast_speed(const Network& network, const ops::MemoryModel& backend, const MachineRates& rates,
                     double kv_bytes_of_sequence, std::size_t context_length, std::size_t batch);

}  // namespace vitrine::plan
