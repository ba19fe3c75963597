#pragma once

#include <array>
#include <cstdint>

// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as
// 1, 2, 3" (SC 2011). A pure function: the same key and counter give the same words on every machine and thread, so a
// random number can belong to (seed, step) instead of to a generator that neighbours would advance.
namespace vitrine::sampling {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

constexpr PhiloxCounter philox_round(const PhiloxCounter& counter, const PhiloxKey& key) {
  const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
  const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
  return {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
          static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
}

constexpr PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
  constexpr int kNumRounds = 10;
  for (int round = 0; round < kNumRounds; ++round) {
    counter = philox_round(counter, key);
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

// What is drawn at random for one generated token; both numbers lie in [0, 1).
struct StepUniforms {
  double token;  // chooses the token
  double xtc;    // decides whether XTC acts
};

constexpr StepUniforms step_uniforms(std::uint64_t seed, std::uint64_t step) {
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  const auto high = [](std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); };
  const PhiloxCounter words = philox4x32({low(step), high(step), 0, 0}, {low(seed), high(seed)});
  const auto unit = [](std::uint32_t a, std::uint32_t b) {
    return static_cast<double>((std::uint64_t{a} << 32 | b) >> 11) * 0x1p-53;
  };
  return {.token = unit(words[0], words[1]), .xtc = unit(words[2], words[3])};
}

}  // namespace vitrine::sampling
