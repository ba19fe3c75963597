#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "loader/metadata.h"
#include "loader/weight_source.h"

namespace vitrine::loader {

// A GGUF model. The metadata is that of the first part and views into the mappings owned by `weights`.
struct GgufModel {
  std::uint32_t version = 0;
  Metadata metadata;
  std::unique_ptr<WeightSource> weights;
};

// Maps a GGUF file (version 2 or 3, little-endian) and checks all of its header; no tensor data is read. For any part
// of a split model (NAME-00001-of-00003.gguf) all parts are opened and checked against each other.
// kMissing names a file that is absent; kBadFile says what is wrong with which file.
// Source: the GGUF format document (ggml-org/ggml, docs/gguf.md).
base::Result<GgufModel> open_gguf(const std::filesystem::path& path);

// What the header of one file says; views into the bytes that were parsed. Shapes are outermost first.
struct GgufHeader {
  std::uint32_t version = 0;
  Metadata metadata;
  std::vector<NamedTensor> tensors;
};

// Parses one whole file in memory. Every tensor's range lies inside `file`; ranges do not overlap. Throws
// base::Exception (kBadFile, without a file name). Heap: less than 64 times the header's size, whatever the file
// claims.
GgufHeader parse_gguf(std::span<const std::byte> file);

}  // namespace vitrine::loader
