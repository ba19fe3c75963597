#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Passes over a row of logits, compiled for several instruction sets from one source: the bits are the same.
namespace vitrine::sampling {

// Logits between two of the sums that softmax adds up.
inline constexpr std::size_t kSumChunk = 1024;
// Logits that are looked at together before each is looked at.
inline constexpr std::size_t kScanBlock = 64;

// Of order_key().
struct KeyRange {
  std::int32_t min;
  std::int32_t max;
};

struct RowKernels {
  const char* name;
  // Of at least one logit.
  KeyRange (*key_range)(const float* logits, std::size_t count);
  // Where the first block of kScanBlock logits from `begin` on begins that holds one >= lowest; `count` without one.
  // `begin` is a multiple of kScanBlock.
  std::size_t (*find_block)(const float* logits, std::size_t count, std::size_t begin, float lowest);
  // The sum over exp_nonpositive(logit - peak) of at most kSumChunk logits, added in 16 running sums.
  double (*sum_exp)(const float* logits, std::size_t count, float peak);
  // logit = (logit - shift) / divisor
  void (*shift_and_divide)(float* logits, std::size_t count, float shift, float divisor);
};

// The best that this machine can run.
const RowKernels& row_kernels();
// All that it can run, the best last.
std::span<const RowKernels* const> supported_row_kernels();

const RowKernels& generic_row_kernels();
const RowKernels& avx2_row_kernels();
const RowKernels& avx512_row_kernels();

}  // namespace vitrine::sampling
