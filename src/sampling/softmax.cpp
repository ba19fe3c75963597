#include "sampling/softmax.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace vitrine::sampling {
namespace {

constexpr std::size_t kLanes = 16;
constexpr std::size_t kChunk = 4096;  // a multiple of kLanes

// At most kChunk logits, in kLanes running sums.
double sum_exp_of_chunk(std::span<const float> chunk, float peak) {
  std::array<double, kLanes> sums{};
  std::size_t i = 0;
  for (; i + kLanes <= chunk.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += static_cast<double>(exp_nonpositive(chunk[i + lane] - peak));
    }
  }
  for (; i < chunk.size(); ++i)
    sums[i % kLanes] += static_cast<double>(exp_nonpositive(chunk[i] - peak));
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

std::span<const float> chunk_at(std::span<const float> logits, std::size_t begin) {
  return logits.subspan(begin, std::min(kChunk, logits.size() - begin));
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
  for (std::size_t begin = 0; begin < logits.size(); begin += kChunk) {
    total += sum_exp_of_chunk(chunk_at(logits, begin), peak);
  }
  return total;
}

Distribution describe(std::span<const float> logits, float peak) {
  double total = 0;
  double weighted = 0;
  for (const float logit : logits) {
    const float below_peak = std::max(logit - peak, -88.0F);  // finite, so that zero mass times it is zero
    const auto mass = static_cast<double>(exp_nonpositive(below_peak));
    total += mass;
    weighted += mass * static_cast<double>(below_peak);
  }
  const double log_total = std::log(total);
  return {.log_total = log_total, .entropy = log_total - weighted / total};
}

std::size_t draw(std::span<const float> logits, float peak, double uniform) {
  const double target = uniform * sum_exp(logits, peak);
  double before = 0;
  std::size_t candidate_chunk = 0;
  double before_candidate = 0;
  for (std::size_t begin = 0; begin < logits.size(); begin += kChunk) {
    const double mass = sum_exp_of_chunk(chunk_at(logits, begin), peak);
    if (mass > 0) {
      candidate_chunk = begin;
      before_candidate = before;
    }
    before += mass;
    if (before > target) break;
  }
  return candidate_chunk + locate(chunk_at(logits, candidate_chunk), peak, target - before_candidate);
}

}  // namespace vitrine::sampling
