#pragma once

#include <cstddef>

namespace vitrine::base {

// Owned memory straight from the system, zeroed, on a boundary of 2 MiB, in huge pages where the system gives them:
// with pages of 4 KiB a loop over weights or cached keys misses the TLB at every page (on a virtual machine that costs
// a fifth of the bandwidth). Move-only. What is never touched takes no memory.
class PageBuffer {
 public:
  static constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;

  PageBuffer() = default;
  // Throws std::bad_alloc where the system refuses.
  explicit PageBuffer(std::size_t size_bytes);
  PageBuffer(PageBuffer&& other) noexcept;
  PageBuffer& operator=(PageBuffer&& other) noexcept;
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;
  ~PageBuffer();

  std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace vitrine::base
