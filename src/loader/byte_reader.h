#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace vitrine::loader {

static_assert(std::endian::native == std::endian::little, "the file formats are little-endian and are read in place");

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A cursor over bytes that never passes their end: every read answers nullopt instead, and then does not move.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }

  std::optional<std::span<const std::byte>> take(std::uint64_t num_bytes) {
    if (num_bytes > remaining()) return std::nullopt;
    const auto taken = bytes_.subspan(position_, num_bytes);
    position_ += num_bytes;
    return taken;
  }

  template <typename T>
  std::optional<T> read() {
    const auto taken = take(sizeof(T));
    if (!taken) return std::nullopt;
    T value;
    std::memcpy(&value, taken->data(), sizeof(T));
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace vitrine::loader
