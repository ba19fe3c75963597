#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/checked.h"

namespace vitrine::tensor {

// Element types. The values are the ids of GGUF (ggml_type in the GGUF format document), so a file's id casts after
// is_known().
enum class DType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ8_1 = 9,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kQ8_K = 15,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kNVFP4 = 40,
  kQ1_0 = 41,
  kQ2_0 = 42,
};

struct DTypeInfo {
  DType type;
  std::string_view name;       // as GGUF tools print it, in lower case: "q4_1", "bf16"
  std::size_t block_elements;  // consecutive elements of a row that share a block
  std::size_t block_bytes;
};

// nullptr for an id that no known type has (also for the removed ids 4, 5, 31-33, 36-38).
const DTypeInfo* find_dtype(std::uint32_t id);
// By name, in any case; nullptr when unknown.
const DTypeInfo* find_dtype(std::string_view name);
const DTypeInfo& dtype_info(DType type);

// Bytes of `elements` consecutive elements. nullopt when they do not fill whole blocks or the size overflows.
std::optional<std::size_t> dtype_bytes(DType type, std::size_t elements);

}  // namespace vitrine::tensor
