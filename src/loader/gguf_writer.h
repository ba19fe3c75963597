#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "loader/metadata.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace vitrine::loader {

// What the header of a GGUF file (version 3, little-endian) is to say: metadata in the order in which it is added, and
// the tensors whose data follow in that order. Keys and names must differ; a value's type follows from its C++ type.
// Source: the GGUF format document (ggml-org/ggml, docs/gguf.md).
class GgufOutline {
 public:
  struct Entry {
    std::string name;
    tensor::Shape shape;  // outermost first
    tensor::DType type;
  };

  template <typename T>
  requires std::is_arithmetic_v<T> GgufOutline& add(std::string_view key, T value) {
    begin_value(key, type_of<T>());
    append_bytes(value);
    return *this;
  }
  GgufOutline& add(std::string_view key, std::string_view text);
  GgufOutline& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
  template <typename T>
  requires std::is_arithmetic_v<T> GgufOutline& add_array(std::string_view key, std::span<const T> values) {
    begin_array(key, type_of<T>(), values.size());
    for (const T value : values)
      append_bytes(value);
    return *this;
  }
  GgufOutline& add_array(std::string_view key, std::span<const std::string> values);
  GgufOutline& add_tensor(std::string name, const tensor::Shape& shape, tensor::DType type);

  std::span<const Entry> tensors() const { return tensors_; }
  // Up to where the data of the first tensor begins.
  std::string header() const;
  // Of the whole file.
  std::uint64_t file_bytes() const;

 private:
  template <typename T>
  static constexpr MetadataType type_of() {
    if constexpr (std::is_same_v<T, bool>) return MetadataType::kBool;
    if constexpr (std::is_same_v<T, float>) return MetadataType::kFloat32;
    if constexpr (std::is_same_v<T, std::uint32_t>) return MetadataType::kUint32;
    if constexpr (std::is_same_v<T, std::int32_t>) return MetadataType::kInt32;
    if constexpr (std::is_same_v<T, std::uint64_t>) return MetadataType::kUint64;
  }
  template <typename T>
  void append_bytes(T value) {
    metadata_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void begin_value(std::string_view key, MetadataType type);
  void begin_array(std::string_view key, MetadataType element_type, std::size_t count);
  void append_text(std::string_view text);

  std::string metadata_;
  std::uint64_t num_entries_ = 0;
  std::vector<Entry> tensors_;
};

// Writes the file of an outline: after the header, the data of each tensor in turn, in pieces of any size, so that a
// file may be larger than memory. It grows under another name beside `path` and takes its place in finish(); without
// that nothing is left behind. Throws base::Exception (kIo, naming the file). Used by one thread; the outline must
// outlive it.
class GgufFile {
 public:
  GgufFile(std::filesystem::path path, const GgufOutline& outline);
  GgufFile(const GgufFile&) = delete;
  GgufFile& operator=(const GgufFile&) = delete;
  ~GgufFile();

  void append(std::span<const std::byte> data);
  void finish();

 private:
  void write(const void* data, std::size_t size);

  std::filesystem::path path_;
  std::filesystem::path partial_path_;
  const GgufOutline& outline_;
  std::ofstream file_;
  std::size_t tensor_idx_ = 0;
  std::size_t tensor_bytes_left_ = 0;
};

}  // namespace vitrine::loader
