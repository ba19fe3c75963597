#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vitrine::fuzz {

// The bytes of an input as answers to questions, so that every input makes something well formed. Once they are used
// up every answer is the first.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  bool at_end() const { return size_ == 0; }
  // Below `count`.
  std::size_t pick(std::size_t count) { return size_ == 0 ? 0 : take() % count; }
  bool flag() { return pick(2) == 1; }
  template <typename Row, std::size_t kCount>
  const Row& of(const Row (&rows)[kCount]) {
    return rows[pick(kCount)];
  }
  // The bytes that are left.
  std::string_view rest() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  std::uint8_t take() {
    --size_;
    return *data_++;
  }

  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace vitrine::fuzz
