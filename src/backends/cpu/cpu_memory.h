#pragma once

#include <cstddef>
#include <span>

#include "backends/cpu/cpu_backend.h"
#include "ops/memory_model.h"

namespace vitrine::backends::cpu {

// The memory that a CpuBackend of these options will take. Starts no threads.
class CpuMemory final : public ops::MemoryModel {
 public:
  CpuMemory(Isa isa, const PathTable& paths, std::size_t num_threads)
      : kernels_(kernel_table(isa)), paths_(paths), num_threads_(num_threads) {}

  std::size_t matrix_bytes(const ops::MatrixSize& matrix) const override;
  std::size_t read_bytes(const ops::MatrixSize& matrix) const override;
  bool keeps_source(tensor::DType type) const override;
  std::size_t padding_bytes(std::span<const ops::MatrixSize> matrices) const override;
  std::size_t scratch_bytes(std::span<const ops::MatrixSize> matrices, const ops::StepSize& step) const override;

 private:
  PackedKind kind_of(const ops::MatrixSize& matrix) const;
  std::size_t packed_bytes(const ops::MatrixSize& matrix) const;
  std::size_t attention_scratch(const ops::StepSize& step, std::size_t slab) const;

  const KernelTable& kernels_;
  PathTable paths_;
  std::size_t num_threads_;
};

}  // namespace vitrine::backends::cpu
