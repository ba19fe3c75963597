#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace vitrine::tensor {

// An array as a .npy file holds it: float32, int32 or int64, C order.
struct NpyArray {
  DType type = DType::kF32;
  Shape shape;
  std::vector<std::byte> bytes;

  TensorView view() const { return {type, shape, bytes.data()}; }
};

// Little-endian files of format version 1.0 (numpy.lib.format), up to four dimensions. write_npy takes kF32, kI32 and
// kI64 and fails with kIo. read_npy refuses every other element type and version, Fortran order, and a file whose size
// is not exactly what its header says (kBadFile); no allocation passes the size of the file.
base::Result<void> write_npy(const std::filesystem::path& path, const TensorView& array);
base::Result<NpyArray> read_npy(const std::filesystem::path& path);

// The same for a whole file in memory; the error does not name the file.
base::Result<NpyArray> parse_npy(std::span<const std::byte> file);

}  // namespace vitrine::tensor
