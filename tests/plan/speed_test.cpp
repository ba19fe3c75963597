#include "plan/speed.h"

#include <gtest/gtest.h>

#include "backends/cpu/cpu_memory.h"

namespace vitrine::plan {
namespace {

class SpeedTest : public ::testing::Test {
 protected:
  static Network network(const char* name) {
    return network_of(*find_model_shape(name), TensorTypes::parse("f16").value_or_throw());
  }
  backends::cpu::CpuMemory backend_{backends::cpu::Isa::kGeneric, {}, 1};
};

TEST_F(SpeedTest, AStepReadsEveryWeightOnceAndEachSequencesCache) {
  const StepReads reads = step_reads(network("llama-3.2-1b"), backend_);
  EXPECT_NEAR(reads.always_bytes / 1e9, 2.47, 0.01);
  EXPECT_EQ(bytes_of_step(reads, {}, 1e6, 3), reads.always_bytes + 3e6);
}

TEST_F(SpeedTest, OneTokenReadsItsExpertsAndManyReadThemAll) {
  const Network mixture = network("mixtral-8x7b");
  const StepReads reads = step_reads(mixture, backend_);
  const auto& experts = mixture.config.experts;
  EXPECT_NEAR(bytes_of_step(reads, experts, 0, 1), reads.always_bytes + reads.expert_bytes / 4, 1.0);
  EXPECT_NEAR(bytes_of_step(reads, experts, 0, 100), reads.always_bytes + reads.expert_bytes, 1e3);
}

TEST_F(SpeedTest, TheSlowerOfReadingAndMultiplyingSetsThePace) {
  const Network model = network("llama-3.2-1b");
  const MachineRates reads_slowly = {
      .read_bytes_per_s = 1e9, .prompt_flops_per_s = 1e15, .generated_flops_per_s = 1e15};
  const MachineRates multiplies_slowly = {
      .read_bytes_per_s = 1e15, .prompt_flops_per_s = 1e9, .generated_flops_per_s = 1e9};
  EXPECT_NEAR(forecast_speed(model, backend_, reads_slowly, 0, 1, 1).decode_tokens_per_s, 1 / 2.47, 0.01);
  const Speed slow = forecast_speed(model, backend_, multiplies_slowly, 0, 1, 4);
  EXPECT_NEAR(slow.decode_tokens_per_s, 1 / 2.47, 0.01);  // 2 operations a weight, 2 bytes a weight
  EXPECT_NEAR(slow.prefill_tokens_per_s, slow.decode_tokens_per_s, 1e-3);
}

TEST_F(SpeedTest, ALongerPromptTakesMoreForEachToken) {
  const Network model = network("llama-3.2-1b");
  EXPECT_LT(mean_prompt_flops(model, 128), mean_prompt_flops(model, 8192));
  const double grown = flops_of_token(model, 1001) - flops_of_token(model, 1000);
  EXPECT_EQ(grown, 2.0 * 32 * 128 * 16);  // heads x (key + value) x layers
}

}  // namespace
}  // namespace vitrine::plan
