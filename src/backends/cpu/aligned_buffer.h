#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace vitrine::backends::cpu {

// Owned memory on a cache-line boundary, contents undefined. Grows only when asked; never copies what it held.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size_bytes) { resize(size_bytes); }

  // Throws std::bad_alloc where the system refuses.
  void resize(std::size_t size_bytes) {
    constexpr std::size_t kAlignment = 64;
    const std::size_t padded = (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, padded == 0 ? kAlignment : padded)));
    if (data_ == nullptr) throw std::bad_alloc();
    size_bytes_ = size_bytes;
  }
  void ensure(std::size_t size_bytes) {
    if (size_bytes > size_bytes_) resize(size_bytes);
  }

  std::size_t size_bytes() const { return size_bytes_; }
  std::byte* data() const { return data_.get(); }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_bytes_ = 0;
};

}  // namespace vitrine::backends::cpu
