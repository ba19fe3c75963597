#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/check.h"

namespace vitrine::tensor {
namespace {

using enum DType;

// Source: the GGUF format document and the block layouts it names.
constexpr std::array kTypes = std::to_array<DTypeInfo>({
    {kF32, "f32", 1, 4},
    {kF16, "f16", 1, 2},
    {kBF16, "bf16", 1, 2},
    {kF64, "f64", 1, 8},
    {kI8, "i8", 1, 1},
    {kI16, "i16", 1, 2},
    {kI32, "i32", 1, 4},
    {kI64, "i64", 1, 8},
    {kQ1_0, "q1_0", 128, 18},
    {kQ2_0, "q2_0", 64, 18},
    {kQ4_0, "q4_0", 32, 18},
    {kQ4_1, "q4_1", 32, 20},
    {kQ5_0, "q5_0", 32, 22},
    {kQ5_1, "q5_1", 32, 24},
    {kQ8_0, "q8_0", 32, 34},
    {kQ8_1, "q8_1", 32, 36},
    {kQ2_K, "q2_k", 256, 84},
    {kQ3_K, "q3_k", 256, 110},
    {kQ4_K, "q4_k", 256, 144},
    {kQ5_K, "q5_k", 256, 176},
    {kQ6_K, "q6_k", 256, 210},
    {kQ8_K, "q8_k", 256, 292},
    {kIQ1_S, "iq1_s", 256, 50},
    {kIQ1_M, "iq1_m", 256, 56},
    {kIQ2_XXS, "iq2_xxs", 256, 66},
    {kIQ2_XS, "iq2_xs", 256, 74},
    {kIQ2_S, "iq2_s", 256, 82},
    {kIQ3_XXS, "iq3_xxs", 256, 98},
    {kIQ3_S, "iq3_s", 256, 110},
    {kIQ4_NL, "iq4_nl", 32, 18},
    {kIQ4_XS, "iq4_xs", 256, 136},
    {kTQ1_0, "tq1_0", 256, 54},
    {kTQ2_0, "tq2_0", 256, 66},
    {kMXFP4, "mxfp4", 32, 17},
    {kNVFP4, "nvfp4", 64, 36},
});

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

const DTypeInfo* find_dtype(std::uint32_t id) {
  const auto* found = std::ranges::find(kTypes, static_cast<DType>(id), &DTypeInfo::type);
  return found == kTypes.end() ? nullptr : found;
}

const DTypeInfo* find_dtype(std::string_view name) {
  const auto* found =
      std::ranges::find_if(kTypes, [&](const DTypeInfo& info) { return equal_ignoring_case(info.name, name); });
  return found == kTypes.end() ? nullptr : found;
}

const DTypeInfo& dtype_info(DType type) {
  const DTypeInfo* info = find_dtype(static_cast<std::uint32_t>(type));
  VT_CHECK(info != nullptr, "a DType that is not in the table");
  return *info;
}

std::optional<std::size_t> dtype_bytes(DType type, std::size_t elements) {
  const DTypeInfo& info = dtype_info(type);
  if (elements % info.block_elements != 0) return std::nullopt;
  return base::checked_mul(elements / info.block_elements, info.block_bytes);
}

}  // namespace vitrine::tensor
