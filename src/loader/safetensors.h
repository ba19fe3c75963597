#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "loader/weight_source.h"

namespace vitrine::loader {

// What the header of a safetensors file says; the tensors are views into the bytes that were parsed, in header order.
// U8 tensors appear as kI8: raw bytes whose meaning the model knows. Two kinds are left out, because no weight is one:
// BOOL tensors (attention masks) and tensors without elements.
struct SafetensorsHeader {
  std::vector<NamedTensor> tensors;
  std::size_t num_skipped = 0;
  std::string first_skipped;  // name of one that was left out
};

// Parses one whole file in memory, strictly: the header is at most 100 MB, its keys are unique, every shape agrees
// with its byte range, and the ranges cover the data exactly. Throws base::Exception (kBadFile, without a file name).
// Linear but for one sort; never recursive. Source: the safetensors format description (huggingface/safetensors).
SafetensorsHeader parse_safetensors(std::span<const std::byte> file);

}  // namespace vitrine::loader
