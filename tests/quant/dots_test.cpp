#include <gtest/gtest.h>

#include "quant_data.h"

// The reference dot products against tests/data/dots: float64 products of 32 weight rows with 3 activations.
namespace vitrine::quant {
namespace {

constexpr std::size_t kColumns = 1024;
constexpr std::size_t kNumWeights = 32;
constexpr std::size_t kNumActivations = 3;

const nlohmann::json& dots_index() {
  static const nlohmann::json json = testing::read_json(testing::data_path("dots/index.json"));
  return json;
}

struct DotCase {
  std::string name;
  const QuantFormat& format;
  const nlohmann::json& entry;
  bool short_blocks;  // activations in blocks of 32, else of 256
};

std::vector<DotCase> dot_cases() {
  std::vector<DotCase> cases;
  for (const auto& [name, entry] : dots_index().at("types").items()) {
    const QuantFormat& format = format_named(name);
    cases.push_back({name, format, entry, format.dot_activation == tensor::DType::kQ8_0});
  }
  return cases;
}

// |dot(weights, activations) - expected| <= bound + 1e-6 * sum |w||x| for every pair.
void expect_dots(const DotCase& test, const std::vector<std::byte>& activations, const std::string& expected_name,
                 const std::vector<double>& bounds) {
  SCOPED_TRACE(test.name);
  const auto weights = load_array<std::byte>(test.entry.at("weight_bytes"));
  const auto expected = load_array<double>(test.entry.at(expected_name));
  const auto magnitudes = load_array<double>(test.entry.at("abs_dot"));
  const std::size_t weight_bytes = weights.size() / kNumWeights;
  const std::size_t activation_bytes = activations.size() / kNumActivations;
  for (std::size_t pair = 0; pair < kNumWeights * kNumActivations; ++pair) {
    const std::byte* weight = weights.data() + pair / kNumActivations * weight_bytes;
    const std::byte* activation = activations.data() + pair % kNumActivations * activation_bytes;
    const float dot = test.format.dot(weight, activation, kColumns);
    EXPECT_LE(std::abs(static_cast<double>(dot) - expected[pair]), bounds[pair] + 1e-6 * magnitudes[pair])
        << "pair " << pair;
  }
  testing::count_cases("dots", 1);
}

TEST(QuantDots, AreExactForGivenInt8Activations) {
  for (const DotCase& test : dot_cases()) {
    const auto activations = load_array<std::byte>(dots_index().at(test.short_blocks ? "act_q8_0" : "act_q8_K"));
    expect_dots(test, activations, test.short_blocks ? "dot_with_act_q8_0" : "dot_with_act_q8_K",
                std::vector<double>(kNumWeights * kNumActivations, 0.0));
  }
}

TEST(QuantDots, StayWithinTheRoundingOfActivationsQuantisedHere) {
  const auto activations = load_array<float>(dots_index().at("activations"));
  for (const DotCase& test : dot_cases()) {
    const auto bounds =
        load_array<double>(test.entry.at(test.short_blocks ? "bound_act_q8_block32" : "bound_act_q8_block256"));
    expect_dots(test, encode(*find_quant_format(test.format.dot_activation), activations), "dot", bounds);
  }
}

}  // namespace
}  // namespace vitrine::quant
