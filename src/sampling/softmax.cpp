#include "sampling/softmax.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "sampling/kernels/row_kernels.h"

namespace vitrine::sampling {
namespace {

constexpr std::size_t kLanes = 16;

// A loop of its own, without a fixed length, because that is the form which compilers vectorise.
void exponentials(std::span<const float> logits, float peak, float* masses) {
  for (std::size_t i = 0; i < logits.size(); ++i)
    masses[i] = exp_nonpositive(logits[i] - peak);
}

// Adds in kLanes running sums, so that the additions do not wait for each other.
double sum_in_lanes(std::span<const double> numbers) {
  std::array<double, kLanes> sums{};
  std::size_t i = 0;
  for (; i + kLanes <= numbers.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += numbers[i + lane];
  }
  for (; i < numbers.size(); ++i)
    sums[i % kLanes] += numbers[i];
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double sum_exp_of_chunk(std::span<const float> chunk, float peak) {
  return row_kernels().sum_exp(chunk.data(), chunk.size(), peak);
}

// The sum over exp(logit - peak) * (logit - peak). Depths are cut at -88, where the mass is 0, since 0 * -inf is NaN.
double sum_weighted_of_chunk(std::span<const float> chunk, float peak) {
  std::array<float, kSumChunk> masses;
  std::array<double, kSumChunk> products;
  exponentials(chunk, peak, masses.data());
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    products[i] = static_cast<double>(masses[i]) * static_cast<double>(std::max(chunk[i] - peak, -88.0F));
  }
  return sum_in_lanes(std::span<const double>(products.data(), chunk.size()));
}

std::span<const float> chunk_at(std::span<const float> logits, std::size_t begin) {
  return logits.subspan(begin, std::min(kSumChunk, logits.size() - begin));
}

// The last position of positive mass at or before the first whose running sum exceeds `target`.
std::size_t locate(std::span<const float> chunk, float peak, double target) {
  double running = 0;
  std::size_t last_possible = 0;
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    const float mass = exp_nonpositive(chunk[i] - peak);
    if (mass == 0.0F) continue;
    last_possible = i;
    running += static_cast<double>(mass);
    if (running > target) break;
  }
  return last_possible;
}

}  // namespace

double sum_exp(std::span<const float> logits, float peak) {
  double total = 0;
  for (std::size_t begin = 0; begin < logits.size(); begin += kSumChunk) {
    total += sum_exp_of_chunk(chunk_at(logits, begin), peak);
  }
  return total;
}

Distribution describe(std::span<const float> logits, float peak) {
  double weighted = 0;
  for (std::size_t begin = 0; begin < logits.size(); begin += kSumChunk) {
    weighted += sum_weighted_of_chunk(chunk_at(logits, begin), peak);
  }
  const double total = sum_exp(logits, peak);
  const double log_total = std::log(total);
  return {.log_total = log_total, .entropy = log_total - weighted / total};
}

std::size_t draw(std::span<const float> logits, float peak, double uniform) {
  std::vector<double> masses;  // of each chunk
  for (std::size_t begin = 0; begin < logits.size(); begin += kSumChunk) {
    masses.push_back(sum_exp_of_chunk(chunk_at(logits, begin), peak));
  }
  const double target = uniform * std::accumulate(masses.begin(), masses.end(), 0.0);
  std::size_t last_possible = 0;
  double before = 0;
  for (std::size_t chunk = 0; chunk < masses.size(); ++chunk) {
    if (masses[chunk] == 0.0) continue;
    last_possible = chunk;
    if (before + masses[chunk] > target) break;
    before += masses[chunk];
  }
  const std::size_t begin = last_possible * kSumChunk;
  return begin + locate(chunk_at(logits, begin), peak, target - before);
}

}  // namespace vitrine::sampling
