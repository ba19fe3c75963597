// The tiny random models against the values that another implementation computed in float32.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>

#include <gtest/gtest.h>

#include "models/sequence_runner.h"
#include "support/reference_data.h"
#include "tensor/npy.h"

namespace vitrine::models {
namespace {

using testing::SequenceRunner;

struct TinyModel {
  std::string name;
  nlohmann::json reference;
  double noise_floor;

  std::filesystem::path path() const { return testing::data_path("models/" + name); }
  std::vector<TokenId> ids(const std::string& length) const {
    return reference.at("input_ids").at(length).get<std::vector<TokenId>>();
  }
  std::vector<float> array(const std::string& file) const {
    const auto npy = tensor::read_npy(path() / (file + ".npy")).value_or_throw();
    std::vector<float> values(npy.shape.num_elements());
    std::memcpy(values.data(), npy.bytes.data(), npy.bytes.size());
    return values;
  }
  double floor_of(const std::string& array_name) const {
    return reference.at("noise_floor").at(array_name).get<double>();
  }
};

void PrintTo(const TinyModel& model, std::ostream* out) {
  *out << model.name;
}

// Every model of a family that the registry has.
std::vector<TinyModel> tiny_models() {
  std::vector<TinyModel> result;
  const auto manifest = testing::read_json(testing::data_path("models/MANIFEST.json"));
  for (const auto& entry : manifest.at("models")) {
    const auto type = entry.at("model_type").get<std::string>();
    const bool known = std::ranges::any_of(families(), [&](const Family* family) {
      return std::ranges::find(family->hf_model_types, type) != family->hf_model_types.end();
    });
    if (!known) continue;
    TinyModel model{entry.at("name"), {}, entry.at("noise_floor")};
    model.reference = testing::read_json(model.path() / "reference.json");
    result.push_back(std::move(model));
  }
  return result;
}

double largest_difference(std::span<const float> got, std::span<const float> wanted) {
  EXPECT_EQ(got.size(), wanted.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
    const double difference = std::fabs(static_cast<double>(got[i]) - static_cast<double>(wanted[i]));
    if (!(difference <= largest)) largest = difference;  // keeps a NaN
  }
  return largest;
}

class TinyModelTest : public ::testing::TestWithParam<TinyModel> {};

TEST_P(TinyModelTest, PeaksAreThoseOfTheLogits) {
  const auto loaded = testing::load(GetParam().path(), testing::reference_options());
  SequenceRunner whole(*loaded.model, 64, 64);
  SequenceRunner peaks_only(*loaded.model, 64, 64);
  const std::vector<TokenId> ids = GetParam().ids("40");
  const std::vector<float> logits = whole.append(ids);
  const auto peaks = peaks_only.append_for_peaks(ids);
  if (loaded.model->config().final_logit_softcap != 0.0F) {
    EXPECT_TRUE(peaks.empty()) << "a cap may make different logits equal";
    return;
  }
  ASSERT_EQ(peaks.size(), ids.size());
  const std::size_t vocab_size = loaded.model->config().vocab_size;
  for (std::size_t row = 0; row < ids.size(); ++row) {
    const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(row * vocab_size);
    const auto largest = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(vocab_size));
    ASSERT_TRUE(peaks[row]);
    EXPECT_EQ(peaks[row]->position, static_cast<std::size_t>(largest - begin)) << row;
    EXPECT_EQ(peaks[row]->value, *largest) << row;
  }
}

TEST_P(TinyModelTest, BeatsWhileItComputes) {
  const auto loaded = testing::load(GetParam().path(), testing::reference_options());
  SequenceRunner runner(*loaded.model, 64, 64);
  const auto began = base::Heartbeat::Clock::now();
  runner.append(GetParam().ids("1"));
  EXPECT_LT(runner.heartbeat().since(), base::Heartbeat::Clock::now() - began);
}

TEST_P(TinyModelTest, LogitsOfEveryPositionAreWithinTenNoiseFloors) {
  const TinyModel& tiny = GetParam();
  const auto loaded = testing::load(tiny.path(), testing::reference_options());
  for (const std::string length : {"1", "7", "40"}) {
    SequenceRunner runner(*loaded.model, 64, 64);
    EXPECT_LE(largest_difference(runner.append(tiny.ids(length)), tiny.array("logits_" + length)),
              10 * tiny.noise_floor)
        << tiny.name << " " << length;
    testing::count_cases("models", 1);
  }
}

TEST_P(TinyModelTest, HiddenStatesAreWithinTenNoiseFloors) {
  const TinyModel& tiny = GetParam();
  const auto loaded = testing::load(tiny.path(), testing::reference_options());
  SequenceRunner runner(*loaded.model, 64, 64);
  testing::Recorder recorder;
  runner.append(tiny.ids("7"), &recorder);
  const double limit = 10 * tiny.floor_of("hidden_7");
  EXPECT_LE(largest_difference(recorder.at("embedding"), tiny.array("embed_7")), limit);
  const std::vector<float> hidden = tiny.array("hidden_7");
  const std::size_t num_layers = loaded.model->config().num_layers;
  const std::size_t layer_size = hidden.size() / (num_layers + 1);
  for (std::size_t layer_idx = 0; layer_idx <= num_layers; ++layer_idx) {
    const std::string name = "hidden_0" + std::to_string(layer_idx);
    EXPECT_LE(largest_difference(recorder.at(name), std::span(hidden).subspan(layer_idx * layer_size, layer_size)),
              limit)
        << name;
  }
  EXPECT_LE(largest_difference(recorder.at("final_norm"), tiny.array("final_norm_7")), limit);
}

TEST_P(TinyModelTest, GreedyContinuationIsEqual) {
  const TinyModel& tiny = GetParam();
  const auto loaded = testing::load(tiny.path(), testing::reference_options());
  const std::vector<TokenId> prompt = tiny.ids("40");
  const auto wanted = tiny.reference.at("greedy").at("tokens").get<std::vector<TokenId>>();
  SequenceRunner runner(*loaded.model, 80, prompt.size());
  std::vector<float> logits = runner.append(prompt);
  const std::size_t vocab_size = loaded.model->config().vocab_size;
  std::vector<TokenId> got;
  for (std::size_t step = 0; step < wanted.size(); ++step) {
    const auto last = std::span(logits).last(vocab_size);
    got.push_back(static_cast<TokenId>(std::ranges::max_element(last) - last.begin()));
    logits = runner.append(std::span(&got.back(), 1));
  }
  EXPECT_EQ(got, wanted);
}

TEST_P(TinyModelTest, TheOlderSpellingOfTheConfigurationGivesTheSameModel) {
  const TinyModel& tiny = GetParam();
  auto files = loader::open_model_files(tiny.path()).value_or_throw();
  const ModelConfig now = read_model_config(files).value_or_throw();
  std::get<loader::HfModel>(files).config = testing::read_json(tiny.path() / "config_legacy.json");
  const ModelConfig legacy = read_model_config(files).value_or_throw();
  EXPECT_EQ(now.rope.theta, legacy.rope.theta);
  EXPECT_EQ(now.rope.scaling, legacy.rope.scaling);
  EXPECT_EQ(now.rope.factor, legacy.rope.factor);
  EXPECT_EQ(now.rope.original_context, legacy.rope.original_context);
  EXPECT_EQ(now.local_rope.theta, legacy.local_rope.theta);
  EXPECT_EQ(now.local_rope.scaling, legacy.local_rope.scaling);
  EXPECT_EQ(now.sliding_window, legacy.sliding_window);
  EXPECT_EQ(now.layer_is_windowed, legacy.layer_is_windowed);
  EXPECT_EQ(now.head_dim, legacy.head_dim);
}

INSTANTIATE_TEST_SUITE_P(All, TinyModelTest, ::testing::ValuesIn(tiny_models()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace vitrine::models
