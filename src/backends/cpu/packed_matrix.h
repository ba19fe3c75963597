#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/packed_layout.h"
#include "backends/cpu/split_pack.h"
#include "backends/cpu/weight_memory.h"
#include "base/thread_pool.h"
#include "ops/backend.h"

namespace vitrine::backends::cpu {

// A weight as tiles of 16 output rows, each [k / block_k] blocks of its layout, or [k][16] plain elements for the float
// kinds; those of kSplitQ8_0 are in split_tile.h. kRaw keeps only a view of the file's blocks. Its memory is that of a
// WeightMemory, which must outlive it.
class PackedMatrix : public ops::Matrix {
 public:
  struct Options {
    ops::MatrixUse use = ops::MatrixUse::kLayer;
    bool as_float32 = false;  // dequantise everything (the reference path)
    HeadScreening screening = HeadScreening::kNever;
  };
  PackedMatrix(const tensor::TensorView& weight, const Options& options, WeightMemory& memory, base::ThreadPool& pool);

  std::size_t out_features() const override { return out_features_; }
  std::size_t in_features() const override { return in_features_; }
  std::size_t size_bytes() const override { return size_bytes_; }
  std::size_t read_bytes() const override;

  PackedKind kind() const { return kind_; }
  tensor::DType type() const { return source_.type; }  // the file's
  ops::MatrixUse use() const { return use_; }
  std::size_t num_tiles() const { return (out_features_ + kTileRows - 1) / kTileRows; }
  std::size_t tile_bytes() const { return tile_bytes_; }  // from one tile to the next; of kSplitQ8_0 its high part
  // Output rows of a tile that exist.
  std::size_t lanes(std::size_t tile_idx) const;
  // Not for kRaw.
  const std::uint8_t* tile(std::size_t tile_idx) const { return data_ + tile_idx * tile_bytes_; }

  // The file's rows of a tile, decoded to [k][16]; rows past the end are zero. Only while the file's memory is valid.
  void decode_source_tile(std::size_t tile_idx, float* values) const;

  static PackedKind kind_of(tensor::DType type);
  // As what a matrix of that size is packed.
  static PackedKind kind_of(const ops::MatrixSize& matrix, const Options& options);
  // size_bytes() of a matrix that is packed as `kind`; `type` is the file's.
  static std::size_t packed_bytes(PackedKind kind, tensor::DType type, std::size_t out_features,
                                  std::size_t in_features);
  // Of those, what no product reads of which all results are wanted.
  static std::size_t unread_bytes(PackedKind kind, std::size_t out_features, std::size_t in_features);

 private:
  void pack_tiles(const PackedLayout* layout, std::uint8_t* data, base::ThreadPool& pool) const;
  void pack_float_tile(std::size_t tile_idx, std::uint8_t* out) const;

  PackedKind kind_;
  ops::MatrixUse use_;
  std::size_t out_features_;
  std::size_t in_features_;
  std::size_t tile_bytes_ = 0;
  std::size_t size_bytes_ = 0;
  tensor::TensorView source_;
  const std::uint8_t* data_ = nullptr;
};

// A matrix that this backend loaded.
inline const PackedMatrix& packed(const ops::Matrix& matrix) {
  return static_cast<const PackedMatrix&>(matrix);
}

}  // namespace vitrine::backends::cpu
