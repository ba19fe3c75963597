#include "sampling/kernels/row_kernels.h"

#include <vector>

namespace vitrine::sampling {
namespace {

std::vector<const RowKernels*> find_supported() {
  std::vector<const RowKernels*> supported = {&generic_row_kernels()};
  if (__builtin_cpu_supports("avx2")) supported.push_back(&avx2_row_kernels());
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    supported.push_back(&avx512_row_kernels());
  return supported;
}

}  // namespace

std::span<const RowKernels* const> supported_row_kernels() {
  static const std::vector<const RowKernels*> kSupported = find_supported();
  return kSupported;
}

const RowKernels& row_kernels() {
  static const RowKernels& kBest = *supported_row_kernels().back();
  return kBest;
}

}  // namespace vitrine::sampling
