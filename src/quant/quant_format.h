#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace vitrine::quant {

// How the elements of one type are stored, as scalar reference code: the slow twin of every kernel. All functions work
// on whole blocks (num_elements is a multiple of the type's block_elements), read and write blocks at any alignment,
// accept any bytes and any float and never fail. Stateless, so callable from any thread. A NaN or an infinity makes a
// block of the int8 activation formats (Q8_0, Q8_1, Q8_K) all NaN; what other block formats make of it is not
// specified. Layouts: the GGUF format document; each format's header states its own.
struct QuantFormat {
  tensor::DType type;
  // The stored values, exactly.
  void (*decode)(const std::byte* blocks, float* values, std::size_t num_elements);
  // nullptr where there is no quantiser (integers and the IQ1, IQ2 and IQ3 formats).
  void (*encode)(const float* values, std::byte* blocks, std::size_t num_elements);
  // Sum of products with activations stored as `dot_activation`; nullptr where undefined (integers).
  float (*dot)(const std::byte* weights, const std::byte* activations, std::size_t num_elements);
  // kQ8_0 for formats with blocks below 256 elements, kQ8_K for those with 256, kF32 for plain numbers.
  tensor::DType dot_activation;
};

// nullptr when there is no such format.
const QuantFormat* find_quant_format(tensor::DType type);

// Every format, one per tensor::DType.
std::span<const QuantFormat> quant_formats();

}  // namespace vitrine::quant
