#include "plan/memory.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_memory.h"
#include "engine/engine.h"
#include "models/registry.h"
#include "plan/shape_tensors.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"
#include "tools/synth/synth.h"

namespace vitrine::plan {
namespace {

using backends::cpu::CpuBackend;
using backends::cpu::CpuMemory;
using backends::cpu::Isa;
using backends::cpu::NumericPath;
using backends::cpu::PathTable;
using tensor::DType;

constexpr std::size_t kThreads = 3;

const std::vector<PathTable>& path_tables() {
  static const std::vector<PathTable> tables = {
      {}, {NumericPath::kThroughput, NumericPath::kLatency}, {.pairs_attention = true}, PathTable::reference()};
  return tables;
}

class Silent final : public hub::Observer {
 public:
  void note(std::string_view /*line*/) override {}
  void progress(std::string_view /*what*/, std::uint64_t /*done*/, std::uint64_t /*total*/) override {}
  bool cancelled() const override { return false; }
};

const TensorTypes& q4() {
  static const TensorTypes types = TensorTypes::parse("q4_k_m").value_or_throw();
  return types;
}

std::vector<std::filesystem::path> tiny_models() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(testing::data_path("models")))
    if (std::filesystem::exists(entry.path() / "config.json")) paths.push_back(entry.path());
  return paths;
}

// A model as it is loaded and used, beside what was forecast of it.
class Measured {
 public:
  Measured(const std::filesystem::path& path, const PathTable& paths)
      : files_(loader::open_model_files(path).value_or_throw()),
        memory_(Isa::kGeneric, paths, kThreads),
        network_(network_of(files_, memory_)),
        backend_({.isa = Isa::kGeneric, .num_threads = kThreads, .paths = paths}),
        model_(models::load_model(files_, backend_).value_or_throw()) {}

  Memory forecast(std::size_t context_length, std::size_t chunk) const {
    return MemoryForecast::create(network_, memory_, {.kv_type = DType::kF32, .max_chunk_tokens = chunk})
        .value_or_throw()
        .at(context_length, 1);
  }
  const models::Model& model() const { return *model_; }

  // After an answer to a prompt that fills the context, in steps of `chunk` tokens.
  std::size_t scratch_bytes(std::size_t context_length, std::size_t chunk) {
    base::MemoryLedger ledger;
    const auto engine = engine::Engine::create(
        *model_, {.context_length = context_length, .kv_type = DType::kF32, .max_chunk_tokens = chunk}, ledger);
    engine::Request request;
    request.prompt.assign(context_length - 2, 1);
    request.max_tokens = 2;
    const auto id = engine.value()->submit(std::move(request), [](const engine::TokenEvent&) {});
    EXPECT_TRUE(id.has_value());
    while (engine.value()->has_work())
      engine.value()->step();
    return backend_.scratch_bytes();
  }

 private:
  loader::ModelFiles files_;
  CpuMemory memory_;
  Network network_;
  CpuBackend backend_;
  std::unique_ptr<models::Model> model_;
};

TEST(MemoryForecast, WeightsAndActivationsAreThoseOfTheLoadedModel) {
  std::size_t num_models = 0;
  for (const auto& path : tiny_models()) {
    for (const PathTable& paths : path_tables()) {
      const Measured measured(path, paths);
      const Memory memory = measured.forecast(64, 32);
      EXPECT_EQ(memory.weights, measured.model().weight_bytes() + measured.model().table_bytes()) << path;
      EXPECT_EQ(memory.activations, measured.model().make_workspace(33, 1)->activation_bytes()) << path;
    }
    ++num_models;
  }
  EXPECT_GT(num_models, 4U);
}

TEST(MemoryForecast, ScratchCoversWhatASequenceMakesTheBackendKeep) {
  for (const auto& path : tiny_models()) {
    for (const PathTable& paths : path_tables()) {
      Measured measured(path, paths);
      const std::size_t length = std::min<std::size_t>(measured.model().config().context_length, 96);
      const std::size_t forecast = measured.forecast(length, 32).scratch;
      const std::size_t used = measured.scratch_bytes(length, 32);
      EXPECT_GE(forecast, used) << path << " " << paths.name();
      EXPECT_LE(forecast, 2 * used + 64 * 1024) << path << " " << paths.name();
    }
  }
}

// A shape and the file that synth makes of it are one model, so there is one forecast.
TEST(MemoryForecast, AShapeIsWorthWhatItsFileIs) {
  const testing::TempDir folder;
  const CpuMemory backend(Isa::kGeneric, {}, kThreads);
  for (const char* name : {"tiny-llama", "tiny-moe"}) {
    const ModelShape& shape = *find_model_shape(name);
    const auto path = folder.path() / name;
    Silent observer;
    tools::write_synth(path, tools::synth_outline(shape, q4()), {}, observer);
    const Network of_file = network_of(loader::open_model_files(path).value_or_throw(), backend);
    const Network of_shape = network_of(shape, q4());
    EXPECT_EQ(of_file.num_parameters(), of_shape.num_parameters()) << name;
    const auto a = MemoryForecast::create(of_file, backend, {}).value_or_throw().at(300, 2);
    const auto b = MemoryForecast::create(of_shape, backend, {}).value_or_throw().at(300, 2);
    EXPECT_EQ(a.weights, b.weights) << name;
    EXPECT_EQ(a.kv_allocated, b.kv_allocated) << name;
    EXPECT_EQ(a.activations, b.activations) << name;
    EXPECT_EQ(a.scratch, b.scratch) << name;
  }
}

// Published counts of parameters, in billions, with the embedding.
TEST(Network, ShapesHaveAsManyParametersAsTheirModels) {
  const std::vector<std::pair<std::string, double>> kCounts = {
      {"gpt2", 0.124},         {"llama-2-7b", 6.74},  {"llama-3.1-8b", 8.03}, {"llama-3.1-70b", 70.6},
      {"llama-3.2-1b", 1.24},  {"qwen3-0.6b", 0.596}, {"qwen3-32b", 32.8},    {"gemma-3-270m", 0.268},
      {"gemma-3-27b", 27.0},   {"mistral-7b", 7.25},  {"mixtral-8x7b", 46.7}, {"deepseek-v3", 671.0},
      {"smollm2-135m", 0.1345}};
  for (const auto& [name, billions] : kCounts) {
    double total = 0.0;
    for (const ShapeTensor& tensor : shape_tensors(*find_model_shape(name), q4()))
      total += static_cast<double>(tensor.shape.num_elements());
    EXPECT_NEAR(total / 1e9 / billions, 1.0, 0.006) << name;
  }
}

TEST(Network, ATokenIsMultipliedWithTheChosenExpertsOnly) {
  const Network network = network_of(*find_model_shape("deepseek-v3"), q4());
  EXPECT_NEAR(network.num_active_elements() / 1e9, 36.6, 0.5);  // 37 billion with the embedding
  EXPECT_FALSE(network.is_computed);
}

TEST(MemoryForecast, WhatFitsIsTheMostThatFits) {
  const CpuMemory backend(Isa::kGeneric, {}, kThreads);
  const Network network = network_of(*find_model_shape("llama-3.2-1b"), q4());
  const MemoryForecast forecast = MemoryForecast::create(network, backend, {}).value_or_throw();
  const std::size_t available = std::size_t{3} << 30U;
  const std::size_t context = forecast.max_context(available, 2, 131072);
  EXPECT_EQ(context % 16, 0U);
  EXPECT_LE(forecast.at(context, 2).total(), available);
  EXPECT_GT(forecast.at(context + 16, 2).total(), available);
  const std::size_t users = forecast.max_sequences(available, 4096);
  EXPECT_LE(forecast.at(4096, users).total(), available);
  EXPECT_GT(forecast.at(4096, users + 1).total(), available);
  EXPECT_EQ(forecast.max_context(1000, 1, 131072), 0U);
  EXPECT_EQ(forecast.max_context(std::size_t{1} << 40U, 1, 131072), 131072U);
}

TEST(LargestThatFits, FindsTheLastOneThatDoes) {
  for (const std::size_t limit : {0U, 1U, 2U, 7U, 1000U}) {
    for (std::size_t most = 0; most <= limit + 1; ++most) {
      EXPECT_EQ(largest_that_fits(limit, [&](std::size_t count) { return count <= most; }), std::min(most, limit));
    }
  }
}

}  // namespace
}  // namespace vitrine::plan
