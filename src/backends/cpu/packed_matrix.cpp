#include "backends/cpu/packed_matrix.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "backends/cpu/pack.h"
#include "base/check.h"
#include "base/checked.h"
#include "quant/quant_format.h"

namespace vitrine::backends::cpu {
namespace {

std::size_t element_bytes(PackedKind kind) {
  return kind == PackedKind::kF32 ? 4 : 2;
}

bool is_float(PackedKind kind) {
  return kind == PackedKind::kF32 || kind == PackedKind::kF16 || kind == PackedKind::kBF16;
}

std::size_t tile_bytes_of(PackedKind kind, tensor::DType type, std::size_t in_features) {
  if (kind == PackedKind::kRaw) return 0;
  if (kind == PackedKind::kSplitQ8_0) return split_high_bytes(in_features);
  if (is_float(kind)) return in_features * kTileRows * element_bytes(kind);
  const PackedLayout* layout = find_packed_layout(type);
  return in_features / layout->block_k * layout->block_bytes();
}

std::uint64_t fingerprint_of(std::initializer_list<std::uint64_t> values) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a, a word at a time
  for (const std::uint64_t value : values)
    hash = (hash ^ value) * 0x100000001B3U;
  return hash;
}

}  // namespace

PackedKind PackedMatrix::kind_of(tensor::DType type) {
  switch (type) {
    case tensor::DType::kF32:
      return PackedKind::kF32;
    case tensor::DType::kF16:
      return PackedKind::kF16;
    case tensor::DType::kBF16:
      return PackedKind::kBF16;
    default:
      break;
  }
  const PackedLayout* layout = find_packed_layout(type);
  return layout != nullptr ? layout->kind : PackedKind::kRaw;
}

PackedKind PackedMatrix::kind_of(const ops::MatrixSize& matrix, const Options& options) {
  if (options.as_float32) return PackedKind::kF32;
  return is_screened(matrix, options.screening) ? PackedKind::kSplitQ8_0 : kind_of(matrix.type);
}

std::size_t PackedMatrix::packed_bytes(PackedKind kind, tensor::DType type, std::size_t out_features,
                                       std::size_t in_features) {
  const std::size_t apart =
      kind == PackedKind::kSplitQ8_0 ? split_middle_bytes(in_features) + split_low_bytes(in_features) : 0;
  return base::ceil_div(out_features, kTileRows) * (tile_bytes_of(kind, type, in_features) + apart);
}

PackedMatrix::PackedMatrix(const tensor::TensorView& weight, const Options& options, WeightMemory& memory,
                           base::ThreadPool& pool)
    : kind_(kind_of({weight.type, weight.shape[0], weight.shape[1], options.use}, options)),
      use_(options.use),
      out_features_(weight.shape[0]),
      in_features_(weight.shape[1]),
      tile_bytes_(tile_bytes_of(kind_, weight.type, in_features_)),
      size_bytes_(packed_bytes(kind_, weight.type, out_features_, in_features_)),
      source_(weight) {
  VT_CHECK(weight.shape.rank() == 2, "a matrix has two dimensions");
  if (kind_ == PackedKind::kRaw) return;
  const PackedLayout* layout = is_float(kind_) ? nullptr : find_packed_layout(weight.type);
  const std::uint64_t fingerprint = fingerprint_of(
      {static_cast<std::uint64_t>(weight.type), static_cast<std::uint64_t>(kind_), out_features_, in_features_});
  const WeightMemory::Block block = memory.take(fingerprint, size_bytes_, pool);
  data_ = reinterpret_cast<const std::uint8_t*>(block.data);
  if (!block.is_filled) pack_tiles(layout, reinterpret_cast<std::uint8_t*>(block.data), pool);
}

std::size_t PackedMatrix::unread_bytes(PackedKind kind, std::size_t out_features, std::size_t in_features) {
  if (kind != PackedKind::kSplitQ8_0) return 0;
  return base::ceil_div(out_features, kTileRows) * split_middle_bytes(in_features);
}

std::size_t PackedMatrix::read_bytes() const {
  return size_bytes_ - unread_bytes(kind_, out_features_, in_features_);
}

void PackedMatrix::pack_tiles(const PackedLayout* layout, std::uint8_t* data, base::ThreadPool& pool) const {
  pool.for_range(num_tiles(), 4, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t tile_idx = begin; tile_idx < end; ++tile_idx) {
      std::uint8_t* out = data + tile_idx * tile_bytes_;
      if (kind_ == PackedKind::kSplitQ8_0) {
        pack_split_tile(source_, tile_idx, data);
      } else if (layout != nullptr) {
        pack_tile(*layout, source_, tile_idx, out);
      } else {
        pack_float_tile(tile_idx, out);
      }
    }
  });
}

std::size_t PackedMatrix::lanes(std::size_t tile_idx) const {
  return std::min(kTileRows, out_features_ - tile_idx * kTileRows);
}

void PackedMatrix::pack_float_tile(std::size_t tile_idx, std::uint8_t* out) const {
  if (kind_ == PackedKind::kF32) {
    decode_source_tile(tile_idx, reinterpret_cast<float*>(out));
    return;
  }
  for (std::size_t lane = 0; lane < lanes(tile_idx); ++lane) {
    const std::byte* row = source_.row(tile_idx * kTileRows + lane);
    for (std::size_t i = 0; i < in_features_; ++i)
      std::memcpy(out + 2 * (i * kTileRows + lane), row + 2 * i, 2);
  }
}

void PackedMatrix::decode_source_tile(std::size_t tile_idx, float* values) const {
  const quant::QuantFormat* format = quant::find_quant_format(source_.type);
  VT_CHECK(format != nullptr, "every element type has a decoder");
  std::vector<float> row(in_features_);
  if (lanes(tile_idx) < kTileRows) std::fill_n(values, in_features_ * kTileRows, 0.0F);
  for (std::size_t lane = 0; lane < lanes(tile_idx); ++lane) {
    format->decode(source_.row(tile_idx * kTileRows + lane), row.data(), in_features_);
    for (std::size_t i = 0; i < in_features_; ++i)
      values[i * kTileRows + lane] = row[i];
  }
}

}  // namespace vitrine::backends::cpu
