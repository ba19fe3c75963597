#pragma once

#include <cstddef>
#include <span>

#include "ops/backend.h"
#include "tensor/dtype.h"

namespace vitrine::ops {

// A matrix of a model as its backend will load it, by its sizes alone.
struct MatrixSize {
  tensor::DType type = tensor::DType::kF32;  // in the file
  std::size_t out_features = 0;
  std::size_t in_features = 0;
  MatrixUse use = MatrixUse::kLayer;

  std::size_t num_elements() const { return out_features * in_features; }
};

// The largest step that a model is run with.
struct StepSize {
  std::size_t num_prompt_rows = 0;  // of a step, all sequences together
  std::size_t num_sequences = 0;    // each with a row that is generated or scored
  std::size_t context_length = 0;   // tokens of one sequence
  std::size_t num_heads = 0;
  std::size_t num_kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t window = 0;      // of a model all of whose layers are windowed; else 0
  std::size_t num_chosen = 0;  // experts that a token uses
  bool looks_up_head = false;  // the head is the embedding as well
};

// What weights and steps will take of a backend's memory, told before anything is loaded. The backend that it speaks
// for reckons with the same functions. Stateless: callable from any thread.
class MemoryModel {
 public:
  virtual ~MemoryModel() = default;

  // Of a matrix once loaded, what is read of its file included.
  virtual std::size_t matrix_bytes(const MatrixSize& matrix) const = 0;
  // What a product of which all results are wanted reads of it.
  virtual std::size_t read_bytes(const MatrixSize& matrix) const { return matrix_bytes(matrix); }
  virtual bool keeps_source(tensor::DType type) const = 0;
  // By how much the memory of these, loaded in this order, exceeds the sum of their bytes: pages are taken whole.
  virtual std::size_t padding_bytes(std::span<const MatrixSize> matrices) const = 0;
  // Buffers that operations keep between calls, once the largest step has come. The last matrix is the head.
  virtual std::size_t scratch_bytes(std::span<const MatrixSize> matrices, const StepSize& step) const = 0;
};

}  // namespace vitrine::ops
