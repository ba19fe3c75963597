#include "plan/speed.h"

#include <algorithm>
#include <cmath>

namespace vitrine::plan {
namespace {

// The experts that at least one of `batch` tokens chooses, as a share of all.
double chosen_share(const models::ExpertConfig& experts, double batch) {
  if (experts.num_experts == 0) return 1.0;
  const double chance = static_cast<double>(experts.num_used) / static_cast<double>(experts.num_experts);
  return 1.0 - std::pow(1.0 - chance, batch);
}

double attention_flops(const Network& network, double length) {
  const KvLayout& kv = network.kv;
  const auto num_window = static_cast<double>(kv.num_window_layers);
  const double num_full = static_cast<double>(kv.num_layers) - num_window;
  const double visible = num_full * length + num_window * std::min(length, static_cast<double>(kv.window));
  const std::size_t value_dim = kv.value_dim != 0 ? kv.value_dim : kv.key_dim;
  return 2.0 * static_cast<double>(network.config.num_heads * (kv.key_dim + value_dim)) * visible;
}

double head_flops(const Network& network) {
  return network.matrices.empty() ? 0.0 : 2.0 * static_cast<double>(network.matrices.back().num_elements());
}

}  // namespace

StepReads step_reads(const Network& network, const ops::MemoryModel& backend) {
  StepReads reads{.always_bytes = static_cast<double>(network.vector_bytes)};
  for (const ops::MatrixSize& matrix : network.matrices) {
    double& sum = matrix.use == ops::MatrixUse::kExpert ? reads.expert_bytes : reads.always_bytes;
    sum += static_cast<double>(backend.read_bytes(matrix));
  }
  return reads;
}

double bytes_of_step(const StepReads& reads, const models::ExpertConfig& experts, double kv_bytes, std::size_t batch) {
  const auto num_sequences = static_cast<double>(batch);
  return reads.always_bytes + reads.expert_bytes * chosen_share(experts, num_sequences) + kv_bytes * num_sequences;
}

double flops_of_token(const Network& network, double length) {
  return 2.0 * network.num_active_elements() + attention_flops(network, length);
}

double mean_prompt_flops(const Network& network, std::size_t num_tokens) {
  const auto count = static_cast<double>(std::max<std::size_t>(num_tokens, 1));
  return flops_of_token(network, count / 2.0) - head_flops(network) * (1.0 - 1.0 / count);
}

Speed forecast_speed(const Network& network, const ops::MemoryModel& backend, const MachineRates& rates,
                     double kv_bytes_of_sequence, std::size_t context_length, std::size_t batch) {
  const auto num_sequences = static_cast<double>(batch);
  const double bytes = bytes_of_step(step_reads(network, backend), network.config.experts, kv_bytes_of_sequence, batch);
  const double flops = num_sequences * flops_of_token(network, static_cast<double>(context_length));
  const double step_s = std::max(bytes / rates.read_bytes_per_s, flops / rates.generated_flops_per_s);
  return {.prefill_tokens_per_s = rates.prompt_flops_per_s / mean_prompt_flops(network, context_length),
          .decode_tokens_per_s = num_sequences / step_s};
}

}  // namespace vitrine::plan
