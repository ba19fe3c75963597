#include "backends/cpu/packed_layout.h"

#include <algorithm>

namespace vitrine::backends::cpu {
namespace {

using tensor::DType;
using enum ScaleForm;

constexpr CodePlane kAbsent{};

// Columns: kind, type, block k, group k, planes, code offset, scale, its integers, minimum, its float16, its
// integers.
constexpr std::array kLayouts = std::to_array<PackedLayout>({
    {PackedKind::kQ4_0, DType::kQ4_0, 32, 32, {{{4, 0, 32}, kAbsent}}, 8, kFloat16, 0, kNone, 0, 0},
    {PackedKind::kQ4_1, DType::kQ4_1, 32, 32, {{{4, 0, 64}, kAbsent}}, 0, kFloat16, 0, kFloat16, 32, 0},
    {PackedKind::kQ5_0, DType::kQ5_0, 32, 32, {{{4, 0, 96}, {1, 4, 32}}}, 16, kFloat16, 0, kNone, 0, 0},
    {PackedKind::kQ5_1, DType::kQ5_1, 32, 32, {{{4, 0, 128}, {1, 4, 64}}}, 0, kFloat16, 0, kFloat16, 32, 0},
    {PackedKind::kQ8_0, DType::kQ8_0, 32, 32, {{{8, 0, 32}, kAbsent}}, 128, kFloat16, 0, kNone, 0, 0},
    {PackedKind::kIQ4_NL, DType::kIQ4_NL, 32, 32, {{{4, 0, 32}, kAbsent}}, 128, kFloat16, 0, kNone, 0, 0, kIq4Table},
    {PackedKind::kMXFP4, DType::kMXFP4, 32, 32, {{{4, 0, 16}, kAbsent}}, 128, kE8M0, 0, kNone, 0, 0, kMxfp4Table},
    {PackedKind::kQ2_K, DType::kQ2_K, 256, 16, {{{2, 0, 320}, kAbsent}}, 0, kLowNibble, 64, kHighNibble, 32, 64},
    {PackedKind::kQ3_K, DType::kQ3_K, 256, 16, {{{2, 0, 800}, {1, 2, 288}}}, 4, kSigned, 32, kNone, 0, 0},
    {PackedKind::kQ4_K, DType::kQ4_K, 256, 32, {{{4, 0, 320}, kAbsent}}, 0, kUnsigned, 64, kUnsigned, 32, 192},
    {PackedKind::kQ5_K, DType::kQ5_K, 256, 32, {{{4, 0, 832}, {1, 4, 320}}}, 0, kUnsigned, 64, kUnsigned, 32, 192},
    {PackedKind::kQ6_K, DType::kQ6_K, 256, 16, {{{4, 0, 1312}, {2, 4, 288}}}, 32, kSigned, 32, kNone, 0, 0},
    {PackedKind::kIQ4_XS, DType::kIQ4_XS, 256, 32, {{{4, 0, 160}, kAbsent}}, 128, kSigned, 32, kNone, 0, 0, kIq4Table},
});

}  // namespace

const PackedLayout* find_packed_layout(DType type) {
  const auto* found = std::ranges::find(kLayouts, type, &PackedLayout::type);
  return found == kLayouts.end() ? nullptr : found;
}

std::span<const PackedLayout> packed_layouts() {
  return kLayouts;
}

}  // namespace vitrine::backends::cpu
