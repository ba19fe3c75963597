#include "quant/quant_format.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/float16.h"
#include "quant_data.h"

// Claims about every row of the format table: a new row is tested with no new test code.
namespace vitrine::quant {
namespace {

constexpr std::size_t kElements = 1024;
constexpr unsigned kSeed = 20240601;

std::string name_of(const QuantFormat& format) {
  return std::string(tensor::dtype_info(format.type).name);
}

std::vector<float> gaussian(unsigned seed, float deviation = 1.0F) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution(0.0F, deviation);
  std::vector<float> values(kElements);
  for (float& value : values)
    value = distribution(generator);
  return values;
}

std::vector<std::byte> random_blocks(const QuantFormat& format, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<std::byte> blocks(*tensor::dtype_bytes(format.type, kElements));
  for (std::byte& byte : blocks)
    byte = static_cast<std::byte>(generator());
  return blocks;
}

// Equal floats, where any NaN equals any NaN.
bool same_values(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

TEST(QuantFormats, HaveOneRowPerTypeId) {
  for (std::uint32_t id = 0; id < 64; ++id) {
    const bool known = tensor::find_dtype(id) != nullptr;
    const QuantFormat* format = find_quant_format(static_cast<tensor::DType>(id));
    ASSERT_EQ(format != nullptr, known) << "type " << id;
    if (known) {
      EXPECT_EQ(static_cast<std::uint32_t>(format->type), id);
    }
  }
}

TEST(QuantFormats, DotWithActivationsThatFitTheirBlocks) {
  for (const QuantFormat& format : quant_formats()) {
    if (format.dot == nullptr) continue;
    const std::size_t activation_elements = tensor::dtype_info(format.dot_activation).block_elements;
    EXPECT_EQ(tensor::dtype_info(format.type).block_elements % activation_elements, 0U) << name_of(format);
    EXPECT_NE(find_quant_format(format.dot_activation)->encode, nullptr) << name_of(format);
  }
}

TEST(QuantFormats, TouchExactlyTheBytesAndElementsOfTheirBlocks) {
  for (const QuantFormat& format : quant_formats()) {
    const tensor::DTypeInfo& info = tensor::dtype_info(format.type);
    // Exact heap blocks: a sanitizer sees any step outside.
    std::vector<std::byte> block = random_blocks(format, kSeed);
    block.resize(info.block_bytes);
    block.shrink_to_fit();
    std::vector<float> values(info.block_elements);
    format.decode(block.data(), values.data(), values.size());
    if (format.encode == nullptr) continue;
    std::vector<std::byte> guarded(info.block_bytes + 2, std::byte{0xA5});
    format.encode(values.data(), guarded.data() + 1, values.size());
    EXPECT_EQ(guarded.front(), std::byte{0xA5}) << name_of(format);
    EXPECT_EQ(guarded.back(), std::byte{0xA5}) << name_of(format);
  }
}

TEST(QuantFormats, ReadAndWriteBlocksAtAnyAlignment) {
  for (const QuantFormat& format : quant_formats()) {
    const std::vector<std::byte> blocks = random_blocks(format, kSeed);
    std::vector<std::byte> shifted(blocks.size() + 1);
    std::ranges::copy(blocks, shifted.begin() + 1);
    std::vector<float> values(kElements);
    format.decode(shifted.data() + 1, values.data(), values.size());
    EXPECT_TRUE(same_values(values, decode(format, blocks))) << name_of(format);
    if (format.encode == nullptr) continue;
    const std::vector<float> input = gaussian(kSeed);
    format.encode(input.data(), shifted.data() + 1, input.size());
    const std::vector<std::byte> expected = encode(format, input);
    EXPECT_TRUE(std::ranges::equal(expected, std::span(shifted).subspan(1))) << name_of(format);
  }
}

TEST(QuantFormats, DecodeBlocksIndependentlyOfTheirNeighbours) {
  for (const QuantFormat& format : quant_formats()) {
    const tensor::DTypeInfo& info = tensor::dtype_info(format.type);
    const std::vector<std::byte> blocks = random_blocks(format, kSeed + 1);
    const std::vector<float> all = decode(format, blocks);
    std::vector<float> joined;
    for (std::size_t at = 0; at < blocks.size(); at += info.block_bytes) {
      const auto first = blocks.begin() + static_cast<std::ptrdiff_t>(at);
      const std::vector<float> one = decode(format, {first, first + static_cast<std::ptrdiff_t>(info.block_bytes)});
      joined.insert(joined.end(), one.begin(), one.end());
    }
    EXPECT_TRUE(same_values(joined, all)) << name_of(format);
  }
}

TEST(QuantFormats, KeepZerosAtZero) {
  const std::vector<float> zeros(kElements, 0.0F);
  for (const QuantFormat& format : quant_formats()) {
    if (format.encode == nullptr) continue;
    EXPECT_TRUE(same_values(decode(format, encode(format, zeros)), zeros)) << name_of(format);
  }
}

TEST(QuantFormats, StayCloseToGaussianWeights) {
  for (const QuantFormat& format : quant_formats()) {
    if (format.encode == nullptr) continue;
    const tensor::DTypeInfo& info = tensor::dtype_info(format.type);
    const double bits = 8.0 * static_cast<double>(info.block_bytes) / static_cast<double>(info.block_elements);
    // No code of b bits beats the distortion-rate bound 2^-b; a useful one stays within a few times of it. Ternary
    // codes of Gaussian values scaled by their maximum are the exception, so the bound never falls below one deviation.
    const std::vector<float> input = gaussian(kSeed, 0.02F);
    const double relative = rmse(decode(format, encode(format, input)), input, 0, kElements) / 0.02;
    EXPECT_LT(relative, bits < 2.2 ? 1.0 : 3.2 * std::exp2(-std::min(bits, 8.0))) << name_of(format);
  }
}

// A second trip through a format finds almost the values of the first: at most a third of the first trip's error is
// added.
TEST(QuantFormats, AreNearlyIdempotent) {
  for (const QuantFormat& format : quant_formats()) {
    if (format.encode == nullptr) continue;
    for (unsigned seed = kSeed; seed < kSeed + 4; ++seed) {
      const std::vector<float> input = gaussian(seed);
      const std::vector<float> once = decode(format, encode(format, input));
      const std::vector<float> twice = decode(format, encode(format, once));
      EXPECT_LE(rmse(twice, once, 0, kElements), rmse(once, input, 0, kElements) / 3)
          << name_of(format) << ", seed " << seed;
    }
  }
}

TEST(QuantFormats, EncodeAnyFloatWithoutCrashing) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> specials = {Limits::quiet_NaN(),
                                       Limits::infinity(),
                                       -Limits::infinity(),
                                       Limits::max(),
                                       -Limits::max(),
                                       Limits::min(),
                                       Limits::denorm_min(),
                                       -Limits::denorm_min(),
                                       0.0F,
                                       -0.0F,
                                       1e30F,
                                       1e-30F};
  std::mt19937 generator(kSeed);
  for (const QuantFormat& format : quant_formats()) {
    if (format.encode == nullptr) continue;
    for (const float special : specials) {
      std::vector<float> all(kElements, special);
      decode(format, encode(format, all));
      std::vector<float> one = gaussian(kSeed);
      one[generator() % kElements] = special;
      decode(format, encode(format, one));
    }
    std::vector<float> mixed(kElements);
    for (float& value : mixed)
      value = specials[generator() % specials.size()];
    decode(format, encode(format, mixed));
  }
}

TEST(QuantFormats, NeverHideABrokenActivation) {
  using Limits = std::numeric_limits<float>;
  for (const QuantFormat& format : quant_formats()) {
    if (format.dot == nullptr) continue;
    for (const float broken : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
      std::vector<float> activations = gaussian(kSeed);
      activations[77] = broken;
      const QuantFormat& activation_format = *find_quant_format(format.dot_activation);
      const std::vector<float> decoded = decode(activation_format, encode(activation_format, activations));
      EXPECT_FALSE(std::isfinite(decoded[77])) << name_of(activation_format);
    }
  }
}

TEST(QuantFormats, DotEqualsTheProductOfDecodedValues) {
  for (const QuantFormat& format : quant_formats()) {
    if (format.dot == nullptr) continue;
    const QuantFormat& activation_format = *find_quant_format(format.dot_activation);
    const std::vector<std::byte> activations = encode(activation_format, gaussian(kSeed + 1));
    const std::vector<float> x = decode(activation_format, activations);
    // Formats without a quantiser take random bytes, whose scales may be infinite: then the dot product is not finite.
    const std::vector<std::byte> weights =
        format.encode != nullptr ? encode(format, gaussian(kSeed)) : random_blocks(format, kSeed);
    const std::vector<float> w = decode(format, weights);
    double expected = 0.0;
    double magnitude = 0.0;
    for (std::size_t i = 0; i < kElements; ++i) {
      expected += static_cast<double>(w[i]) * static_cast<double>(x[i]);
      magnitude += std::abs(static_cast<double>(w[i]) * static_cast<double>(x[i]));
    }
    const float dot = format.dot(weights.data(), activations.data(), kElements);
    if (!std::isfinite(magnitude)) continue;
    EXPECT_NEAR(dot, expected, 1e-6 * magnitude) << name_of(format);
  }
}

TEST(QuantFormats, DecodeEveryHalfPrecisionNumberExactly) {
  std::vector<std::byte> bytes(65536 * 2);
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    std::memcpy(bytes.data() + bits * 2, &half, sizeof(half));
  }
  std::vector<float> expected16(65536);
  std::vector<float> expected_b16(65536);
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    expected16[bits] = base::to_float(base::Float16{static_cast<std::uint16_t>(bits)});
    expected_b16[bits] = base::to_float(base::BFloat16{static_cast<std::uint16_t>(bits)});
  }
  EXPECT_TRUE(same_values(decode(format_named("f16"), bytes), expected16));
  EXPECT_TRUE(same_values(decode(format_named("bf16"), bytes), expected_b16));
}

}  // namespace
}  // namespace vitrine::quant
