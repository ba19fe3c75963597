#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace vitrine::testing {

// Builds a GGUF file in memory, right or wrong: it checks nothing. Value types follow from the C++ types.
//   GgufWriter().add("general.architecture", "llama").add("llama.block_count", 2U).add_tensor("t", {4, 2},
//   floats).build()
class GgufWriter {
 public:
  explicit GgufWriter(std::uint32_t version = 3) : version_(version) {}

  // Also sets the key general.alignment.
  GgufWriter& alignment(std::uint32_t bytes) {
    alignment_ = bytes;
    return add("general.alignment", bytes);
  }

  template <typename T>
  requires std::is_arithmetic_v<T> GgufWriter& add(std::string_view key, T value) {
    return add_raw(key, type_id<T>(), bytes_of(value));
  }
  GgufWriter& add(std::string_view key, std::string_view text) { return add_raw(key, kStringId, sized(text)); }
  GgufWriter& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }

  template <typename T>
  requires std::is_arithmetic_v<T> GgufWriter& add_array(std::string_view key, const std::vector<T>& values) {
    std::string payload = bytes_of(type_id<T>()) + bytes_of(std::uint64_t{values.size()});
    for (const T value : values)
      payload += bytes_of(value);
    return add_raw(key, kArrayId, payload);
  }
  GgufWriter& add_array(std::string_view key, const std::vector<std::string>& values) {
    std::string payload = bytes_of(kStringId) + bytes_of(std::uint64_t{values.size()});
    for (const std::string& value : values)
      payload += sized(value);
    return add_raw(key, kArrayId, payload);
  }
  // A value of any type id with any payload.
  GgufWriter& add_raw(std::string_view key, std::uint32_t type, std::string_view payload) {
    entries_ += sized(key) + bytes_of(type) + std::string(payload);
    ++num_entries_;
    return *this;
  }

  // The shape is outermost first, as everywhere but in the file; the data is padded to the alignment.
  GgufWriter& add_tensor(std::string_view name, const tensor::Shape& shape, tensor::DType type, std::string_view data) {
    data_.resize((data_.size() + alignment_ - 1) / alignment_ * alignment_);
    add_tensor_info(name, shape, static_cast<std::uint32_t>(type), data_.size());
    data_ += data;
    return *this;
  }
  GgufWriter& add_tensor(std::string_view name, const tensor::Shape& shape, std::span<const float> data) {
    return add_tensor(name, shape, tensor::DType::kF32,
                      std::string_view(reinterpret_cast<const char*>(data.data()), data.size_bytes()));
  }
  // A line in the tensor list without data.
  GgufWriter& add_tensor_info(std::string_view name, const tensor::Shape& shape, std::uint32_t type,
                              std::uint64_t offset) {
    infos_ += sized(name) + bytes_of(static_cast<std::uint32_t>(shape.rank()));
    for (std::size_t axis = shape.rank(); axis > 0; --axis)
      infos_ += bytes_of(std::uint64_t{shape[axis - 1]});
    infos_ += bytes_of(type) + bytes_of(offset);
    ++num_tensors_;
    return *this;
  }

  std::string build() const {
    std::string file =
        "GGUF" + bytes_of(version_) + bytes_of(num_tensors_) + bytes_of(num_entries_) + entries_ + infos_;
    if (num_tensors_ != 0) file.resize((file.size() + alignment_ - 1) / alignment_ * alignment_);
    return file + data_;
  }
  void write(const std::filesystem::path& path) const { std::ofstream(path, std::ios::binary) << build(); }

  template <typename T>
  static std::string bytes_of(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof(value)};
  }
  // A string as GGUF stores it, its length in front.
  static std::string sized(std::string_view text) { return bytes_of(std::uint64_t{text.size()}) + std::string(text); }

 private:
  static constexpr std::uint32_t kStringId = 8;
  static constexpr std::uint32_t kArrayId = 9;

  template <typename T>
  static constexpr std::uint32_t type_id() {
    if constexpr (std::is_same_v<T, bool>) return 7;
    if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? 6 : 12;
    const std::uint32_t is_signed = std::is_signed_v<T> ? 1 : 0;
    if constexpr (sizeof(T) == 1) return 0 + is_signed;
    if constexpr (sizeof(T) == 2) return 2 + is_signed;
    return (sizeof(T) == 4 ? 4 : 10) + is_signed;
  }

  std::uint32_t version_;
  std::size_t alignment_ = 32;
  std::string entries_;
  std::string infos_;
  std::string data_;
  std::uint64_t num_entries_ = 0;
  std::uint64_t num_tensors_ = 0;
};

}  // namespace vitrine::testing
