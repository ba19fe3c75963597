#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/model_shape.h"
#include "plan/tensor_types.h"
#include "tensor/shape.h"

namespace vitrine::plan {

enum class TensorRole : std::uint8_t {
  kTable,    // a row is looked up for each token
  kMatrix,   // [out_features, in_features]
  kExperts,  // [num_experts, out_features, in_features], of which a token uses some
  kRouter,   // chooses them
  kHead,     // gives the logits
  kVector,   // a norm
  kNote,     // read with the configuration, not kept
};

struct ShapeTensor {
  std::string name;  // as GGUF has it
  tensor::Shape shape;
  tensor::DType type = tensor::DType::kF32;
  TensorRole role = TensorRole::kVector;
};

// The tensors of a model of this shape, those without a layer first. Biases are left out.
std::vector<ShapeTensor> shape_tensors(const ModelShape& shape, const TensorTypes& types);

}  // namespace vitrine::plan
