#include "vitrine/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/cpu_memory.h"
#include "support/reference_data.h"

namespace vitrine::cli {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kMiB = std::size_t{1} << 20U;

RuntimeFlags flags_with(std::size_t context_length = 0) {
  RuntimeFlags flags;
  flags.context_length = context_length;
  flags.num_threads = 2;
  return flags;
}

// A Llama of 131,072 tokens of context with 0.5 MiB for a block of the cache.
MemoryNeed need_of(const RuntimeFlags& flags, const char* shape = "llama-3.2-1b") {
  const auto types = plan::TensorTypes::parse("q4_k_m").value_or_throw();
  auto backend =
      std::make_unique<backends::cpu::CpuMemory>(backends::cpu::Isa::kGeneric, backends::cpu::PathTable(), 2);
  plan::Network network = plan::network_of(*plan::find_model_shape(shape), types);
  return {std::move(network), std::move(backend), flags};
}

base::Error refusal(const char* shape, std::size_t context_length, std::size_t available_bytes) {
  const RuntimeFlags flags = flags_with(context_length);
  try {
    choose_context(need_of(flags, shape), flags, available_bytes);
  } catch (const base::Exception& exception) {
    return exception.error();
  }
  ADD_FAILURE() << "not refused";
  return {};
}

TEST(MemoryPlan, TheModelsOwnContextIsCutToWhatMemoryHolds) {
  const MemoryNeed need = need_of(flags_with());
  EXPECT_EQ(choose_context(need, flags_with(), 100'000 * kMiB), 131072U);
  const std::size_t available = need.total(1600);
  const std::size_t chosen = choose_context(need, flags_with(), available);
  EXPECT_EQ(chosen, 1600U);
  EXPECT_LE(need.total(chosen), available);
  EXPECT_GT(need.total(chosen + 16), available);
}

TEST(MemoryPlan, AContextThatWasAskedForIsRefusedWithTheLargestThatFits) {
  // 832 tokens fill whole pages of 2 MiB.
  const base::Error error = refusal("llama-3.2-1b", 1600, need_of(flags_with()).total(832));
  EXPECT_EQ(error.kind, base::ErrorKind::kNoMemory);
  EXPECT_THAT(error.message, HasSubstr("--ctx 832 would fit"));
  EXPECT_THAT(error.message, HasSubstr("q8_0"));
}

TEST(MemoryPlan, AModelThatIsTooLargeItselfIsRefusedWithOneThatFits) {
  const base::Error error = refusal("llama-3.1-8b", 16, 2'000 * kMiB);
  EXPECT_EQ(error.kind, base::ErrorKind::kNoMemory);
  EXPECT_THAT(error.message, HasSubstr("would fit"));
}

TEST(MemoryPlan, MoreThanTheModelsContextIsWrongUse) {
  EXPECT_EQ(refusal("llama-3.2-1b", 131'073, 1'000'000 * kMiB).kind, base::ErrorKind::kUsage);
}

TEST(MemoryPlan, KvMemoryLimitsWhatTheCacheCounts) {
  RuntimeFlags flags = flags_with();
  flags.kv_memory = "10MiB";
  const MemoryNeed need = need_of(flags);
  EXPECT_EQ(need.total(16'000), need.without_kv(16'000) + 10 * kMiB);
  EXPECT_EQ(plan_memory(need, flags, 100'000 * kMiB).kv_bytes, 10 * kMiB);
}

TEST(MemoryPlan, SequencesShareHalfOfWhatTheRestLeaves) {
  RuntimeFlags flags = flags_with(4096);
  flags.max_sequences = 32;
  const MemoryNeed need = need_of(flags);
  const MemoryPlan roomy = plan_memory(need, flags, 100'000 * kMiB);
  EXPECT_EQ(roomy.kv_bytes, 32 * need.kv(4096));
  const std::size_t available = need.without_kv(4096) + 1024 * kMiB;
  EXPECT_EQ(plan_memory(need, flags, available).kv_bytes, 512 * kMiB);
}

TEST(MemoryPlan, AKvTypeThatTheCacheCannotHaveIsWrongUse) {
  for (const char* type : {"q4_0", "nonsense"}) {
    RuntimeFlags flags = flags_with();
    flags.kv_type = type;
    EXPECT_THROW(need_of(flags), base::Exception) << type;
  }
}

TEST(MemoryPlan, AFileIsReadToItsHeader) {
  const auto files = loader::open_model_files(testing::data_path("models/mixtral")).value_or_throw();
  const MemoryNeed need(files, flags_with());
  EXPECT_GT(need.total(16), need.memory(16).weights);
}

}  // namespace
}  // namespace vitrine::cli
