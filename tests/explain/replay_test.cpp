#include "explain/replay.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/generate.h"
#include "explain/report.h"
#include "models/sequence_runner.h"
#include "support/reference_data.h"
#include "tensor/npy.h"

namespace vitrine::explain {
namespace {

using backends::cpu::CpuBackend;
using testing::LoadedModel;

constexpr std::size_t kPlenty = std::size_t{1} << 30U;

std::filesystem::path model_path(const std::string& name) {
  return testing::data_path("models/" + name);
}

std::vector<float> read_array(const std::string& model, const std::string& file) {
  const auto npy = tensor::read_npy(model_path(model) / (file + ".npy")).value_or_throw();
  std::vector<float> values(npy.shape.num_elements());
  std::memcpy(values.data(), npy.bytes.data(), npy.bytes.size());
  return values;
}

sampling::SamplingParams greedy() {
  sampling::SamplingParams params;
  params.temperature = 0.0F;
  params.seed = 1;
  return params;
}

Replay::Settings exact_settings(std::size_t max_chunk_tokens = 64) {
  return {.kv_type = tensor::DType::kF32, .max_chunk_tokens = max_chunk_tokens, .max_bytes = kPlenty};
}

std::unique_ptr<Replay> run(const models::Model& model, Recording recording, const Replay::Settings& settings) {
  auto replay = Replay::create(model, std::move(recording), settings).value_or_throw();
  while (replay->advance()) {
  }
  return replay;
}

// A model of the reference data with its greedy continuation of 40 tokens.
struct Reference {
  explicit Reference(const std::string& model)
      : name(model), json(testing::read_json(model_path(model) / "reference.json")) {}

  Recording recording() const {
    return {.prompt = json.at("input_ids").at("40").get<std::vector<TokenId>>(),
            .answer = json.at("greedy").at("tokens").get<std::vector<TokenId>>(),
            .sampling = greedy()};
  }
  double noise() const { return json.at("noise_floor").at("logits").get<double>(); }

  std::string name;
  nlohmann::json json;
};

class ReplayTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ReplayTest, GivesTheReferenceTokensWithTheReferenceProbabilities) {
  const Reference reference(GetParam());
  const LoadedModel loaded = testing::load(model_path(GetParam()), testing::reference_options());
  const auto replay = run(*loaded.model, reference.recording(), exact_settings(9));
  EXPECT_FALSE(replay->first_difference());
  const std::vector<float> wanted = read_array(GetParam(), "logits_steps");
  const std::size_t vocab = loaded.model->config().vocab_size;
  ASSERT_EQ(replay->choices().size(), wanted.size() / vocab);
  for (std::size_t step = 0; step < replay->choices().size(); ++step) {
    const std::span<const float> row = std::span(wanted).subspan(step * vocab, vocab);
    const float peak = *std::ranges::max_element(row);
    double sum = 0.0;
    for (const float logit : row)
      sum += std::exp(static_cast<double>(logit) - static_cast<double>(peak));
    const sampling::Explanation& choice = replay->choices()[step];
    EXPECT_EQ(choice.rank, 0U);
    EXPECT_NEAR(choice.candidates.front().probability, 1.0 / sum, 1e-4) << step;
    const std::span<const float> logits = replay->logits(step);
    for (std::size_t i = 0; i < vocab; ++i)
      ASSERT_NEAR(logits[i], row[i], 1e-4) << step << " " << i;
  }
}

TEST_P(ReplayTest, LayersHoldTheReferenceHiddenStates) {
  const Reference reference(GetParam());
  const LoadedModel loaded = testing::load(model_path(GetParam()), testing::reference_options());
  const Recording recording{
      .prompt = reference.json.at("input_ids").at("7").get<std::vector<TokenId>>(), .answer = {}, .sampling = greedy()};
  const auto replay = run(*loaded.model, recording, exact_settings(4));
  const std::vector<float> wanted = read_array(GetParam(), "hidden_7");
  const models::ModelConfig& config = loaded.model->config();
  for (std::size_t layer = 0; layer <= config.num_layers; ++layer) {
    for (std::size_t position = 0; position < 7; ++position) {
      const std::span<const float> hidden = replay->hidden(layer, position);
      for (std::size_t i = 0; i < config.hidden_size; ++i)
        ASSERT_NEAR(hidden[i], wanted[(layer * 7 + position) * config.hidden_size + i], 1e-4) << layer;
    }
  }
  // The last row of the lens is what the model says.
  const std::vector<float> logits = read_array(GetParam(), "logits_7");
  const Lens lens = replay->lens(2, 5);
  ASSERT_EQ(lens.layers.size(), config.num_layers + 1);
  for (std::size_t i = 0; i < 5; ++i) {
    const std::span<const float> row = std::span(logits).subspan((2 + i) * config.vocab_size, config.vocab_size);
    EXPECT_EQ(lens.layers.back()[i].id, std::ranges::max_element(row) - row.begin());
  }
}

TEST_P(ReplayTest, AttentionRowsAreDistributionsOverWhatThePositionSees) {
  const Reference reference(GetParam());
  const LoadedModel loaded = testing::load(model_path(GetParam()), testing::reference_options());
  const auto replay = run(*loaded.model, reference.recording(), exact_settings());
  const models::ModelConfig& config = loaded.model->config();
  const std::size_t num_positions = replay->recording().num_positions();
  for (std::size_t layer = 0; layer < config.num_layers; ++layer) {
    const bool is_windowed = config.layer_is_windowed[layer] && config.sliding_window > 0;
    for (std::size_t head = 0; head < config.num_heads; ++head) {
      const std::vector<float> weights = replay->attention_weights(layer, head);
      ASSERT_EQ(weights.size(), num_positions * (num_positions + 1) / 2);
      std::size_t at = 0;
      for (std::size_t position = 0; position < num_positions; at += ++position) {
        const std::span<const float> row = std::span(weights).subspan(at, position + 1);
        EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1.0, 1e-5);
        for (std::size_t key = 0; is_windowed && key + config.sliding_window <= position; ++key)
          EXPECT_EQ(row[key], 0.0F);
      }
      EXPECT_EQ(at, weights.size());
    }
  }
}

TEST_P(ReplayTest, CostsAreThoseOfTheProducts) {
  const Reference reference(GetParam());
  const LoadedModel loaded = testing::load(model_path(GetParam()), testing::reference_options());
  const auto replay = run(*loaded.model, reference.recording(), exact_settings(16));
  const models::ModelConfig& config = loaded.model->config();
  const std::size_t q_width = config.num_heads * config.head_dim;
  const std::size_t kv_width = config.num_kv_heads * config.head_dim;
  const PassCost& prefill = replay->prefill();
  EXPECT_EQ(prefill.num_rows, 40U);
  EXPECT_EQ(prefill.num_passes, 3U);
  const auto flops = [&](std::size_t layer, LayerPart part) {
    return prefill.layers[layer].parts[static_cast<std::size_t>(part)].flops;
  };
  const bool has_experts = config.experts.num_experts > 0;
  const std::size_t mlp_width =
      has_experts ? config.experts.intermediate_size * config.experts.num_used : config.intermediate_size;
  for (std::size_t layer = 0; layer < config.num_layers; ++layer) {
    EXPECT_EQ(flops(layer, LayerPart::kQkv),
              static_cast<double>(2 * 40 * config.hidden_size * (q_width + 2 * kv_width)));
    EXPECT_EQ(flops(layer, LayerPart::kOut), static_cast<double>(2 * 40 * config.hidden_size * q_width));
    EXPECT_EQ(flops(layer, LayerPart::kGateUp), static_cast<double>(2 * 40 * config.hidden_size * 2 * mlp_width));
    EXPECT_EQ(flops(layer, LayerPart::kDown), static_cast<double>(2 * 40 * config.hidden_size * mlp_width));
    EXPECT_EQ(flops(layer, LayerPart::kRouter),
              has_experts ? static_cast<double>(2 * 40 * config.hidden_size * config.experts.num_experts) : 0.0);
    EXPECT_EQ(flops(layer, LayerPart::kNorms), 0.0);
    if (!config.layer_is_windowed[layer] || config.sliding_window == 0) {
      EXPECT_EQ(flops(layer, LayerPart::kAttention), static_cast<double>(4 * (40 * 41 / 2) * q_width));
    }
    EXPECT_GT(prefill.layers[layer].hidden_norm, 0.0);
  }
  // One row was scored.
  EXPECT_EQ(prefill.head.flops, static_cast<double>(2 * config.hidden_size * config.vocab_size));
  EXPECT_EQ(replay->decode().num_passes, 23U);
  EXPECT_EQ(replay->decode().mean().num_rows, 1U);
}

INSTANTIATE_TEST_SUITE_P(Models, ReplayTest, ::testing::Values("llama", "gemma3", "mixtral", "qwen3", "qwen3_moe"),
                         [](const auto& model) { return model.param; });

// An engine's answer with chance in it, computed on the fast paths, comes out again.
TEST(Replay, EqualsTheEngineOnTheFastPaths) {
  const auto isa = backends::cpu::supported_isas().back();
  const LoadedModel loaded = testing::load(
      model_path("llama"), {.isa = isa, .num_threads = 2, .paths = backends::cpu::PathTable::for_isa(isa)});
  base::MemoryLedger ledger;
  auto engine = engine::Engine::create(*loaded.model, {.max_chunk_tokens = 16}, ledger).value_or_throw();
  engine::Request request{.prompt = Reference("llama").recording().prompt,
                          .sampling = {},
                          .max_tokens = 24,
                          .stop_tokens = {},
                          .eog_tokens = {},
                          .cache_salt = {},
                          .tenant = {}};
  request.sampling.seed = 7;
  request.sampling.top_p = 0.9F;
  Recording recording{.prompt = request.prompt, .answer = {}, .sampling = request.sampling};
  recording.answer = engine::generate(*engine, request, nullptr, nullptr).value_or_throw().token_ids;
  ASSERT_EQ(recording.answer.size(), 24U);
  const auto replay = run(*loaded.model, recording, {.max_chunk_tokens = 7, .max_bytes = kPlenty});
  EXPECT_FALSE(replay->first_difference());

  // What it would have said with another token in the middle is not what it said.
  recording.answer[3] = (recording.answer[3] + 1) % 300;
  EXPECT_EQ(run(*loaded.model, recording, {.max_bytes = kPlenty})->first_difference(), 3U);
}

TEST(Replay, RefusesWhatDoesNotFit) {
  const LoadedModel loaded = testing::load(model_path("llama"), testing::reference_options());
  const Recording recording = Reference("llama").recording();
  Replay::Settings settings = exact_settings();
  settings.max_bytes = Replay::bytes_for(*loaded.model, recording.num_positions(), settings);
  EXPECT_TRUE(Replay::create(*loaded.model, recording, settings));
  --settings.max_bytes;
  const auto refused = Replay::create(*loaded.model, recording, settings);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, base::ErrorKind::kNoMemory);
  Recording unknown = recording;
  unknown.answer.push_back(320);
  EXPECT_FALSE(Replay::create(*loaded.model, unknown, exact_settings()));
  EXPECT_FALSE(Replay::create(*loaded.model, {.prompt = {}, .answer = {}, .sampling = {}}, exact_settings()));
}

TEST(Replay, ReportSaysWhatItFound) {
  const LoadedModel loaded = testing::load(model_path("llama"), testing::reference_options());
  const auto replay = run(*loaded.model, Reference("llama").recording(), exact_settings());
  const std::vector<double> times = {0.5, 0.75};
  const trace::Timeline timeline;
  const Json json = xray_json(*replay, {.id = "r",
                                        .model = "m",
                                        .finish_reason = "length",
                                        .prompt_tokens = 40,
                                        .completion_tokens = 24,
                                        .timeline = timeline,
                                        .token_times_s = times});
  EXPECT_EQ(json.at("tokens").size(), 64U);
  EXPECT_EQ(json.at("prompt_tokens"), 40);
  EXPECT_EQ(json.at("shapes").at(0).dump(), R"({"name":"input_ids","shape":[1,40]})");
  EXPECT_EQ(json.at("replay").at("equal"), true);
  EXPECT_EQ(json.at("steps").size(), 24U);
  EXPECT_EQ(json.at("steps").at(0).at("duration_s"), 0.5);
  EXPECT_EQ(json.at("steps").at(1).at("duration_s"), 0.25);
  EXPECT_TRUE(json.at("steps").at(2).at("duration_s").is_null());
  EXPECT_EQ(json.at("steps").at(0).at("chain").at(0).at("name"), "temperature");
  EXPECT_EQ(json.at("steps").at(0).at("chain").at(0).at("survivors"), 1);
  EXPECT_EQ(json.at("kv").at("tokens_held"), 63);
  EXPECT_EQ(json.at("kv").at("blocks").size(), 4U);
  EXPECT_EQ(json.at("kv").at("blocks").at(2).at("prompt_tokens"), 8);
  EXPECT_EQ(json.at("kv").at("blocks").at(3).at("filled"), 15);
  EXPECT_EQ(json.at("layers").at("decode").at("rows"), 1);
  const Json& layer = json.at("layers").at("decode").at("layers").at(0);
  EXPECT_FALSE(layer.contains("kernel")) << "each part has its own";
  for (const Json& op : layer.at("ops")) {
    const bool is_named = op.at("name") != "norms";
    ASSERT_EQ(op.contains("kernel"), is_named) << op;
    if (is_named) {
      EXPECT_NE(op.at("kernel").get<std::string>().find(" in float32, "), std::string::npos) << op;
    }
  }
  const Json lens = to_json(replay->lens(0, 3), nullptr);
  EXPECT_EQ(lens.at("layers").back().at(2).at("is_final"), true);
}

}  // namespace
}  // namespace vitrine::explain
