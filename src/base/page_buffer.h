#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <vector>

namespace vitrine::base {

// Zeroed memory as PageBuffer has it, to be given back with the same size. Throws std::bad_alloc where the system
// refuses.
std::byte* map_pages(std::size_t size_bytes);
void unmap_pages(std::byte* memory, std::size_t size_bytes);

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

// For containers: blocks of kHugePageBytes and more lie in such memory, smaller ones where all others lie. Tables that
// are looked up at random places miss the TLB less.
template <typename T>
class PageAllocator {
 public:
  using value_type = T;
  PageAllocator() = default;
  template <typename Other>
  explicit PageAllocator(const PageAllocator<Other>& /*other*/) {}

  T* allocate(std::size_t count) {
    if (!in_pages(count)) return std::allocator<T>().allocate(count);
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return reinterpret_cast<T*>(map_pages(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) {
    if (!in_pages(count)) return std::allocator<T>().deallocate(memory, count);
    unmap_pages(reinterpret_cast<std::byte*>(memory), count * sizeof(T));
  }
  friend bool operator==(const PageAllocator&, const PageAllocator&) { return true; }

 private:
  static bool in_pages(std::size_t count) { return count >= PageBuffer::kHugePageBytes / sizeof(T); }
};

template <typename T>
using PageVector = std::vector<T, PageAllocator<T>>;

}  // namespace vitrine::base
