#include "base/page_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <limits>
#include <new>
#include <utility>

namespace vitrine::base {
namespace {

std::size_t round_up(std::size_t size, std::size_t step) {
  return (size + step - 1) / step * step;
}

}  // namespace

std::byte* map_pages(std::size_t size_bytes) {
  constexpr std::size_t kHugePageBytes = PageBuffer::kHugePageBytes;
  if (size_bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  const std::size_t size = round_up(size_bytes, kHugePageBytes);
  const std::size_t mapped = size + kHugePageBytes;
  void* memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(memory);
  const std::size_t address = reinterpret_cast<std::uintptr_t>(begin);
  const std::size_t lead = round_up(address, kHugePageBytes) - address;
  if (lead > 0) ::munmap(begin, lead);
  if (lead < kHugePageBytes) ::munmap(begin + lead + size, kHugePageBytes - lead);
  ::madvise(begin + lead, size, MADV_HUGEPAGE);  // an advice: where it is refused, small pages do
  return begin + lead;
}

void unmap_pages(std::byte* memory, std::size_t size_bytes) {
  ::munmap(memory, round_up(size_bytes, PageBuffer::kHugePageBytes));
}

PageBuffer::PageBuffer(std::size_t size_bytes)
    : data_(size_bytes == 0 ? nullptr : map_pages(size_bytes)), size_bytes_(size_bytes) {}

PageBuffer::PageBuffer(PageBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

PageBuffer& PageBuffer::operator=(PageBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

PageBuffer::~PageBuffer() {
  if (data_ != nullptr) unmap_pages(data_, size_bytes_);
}

}  // namespace vitrine::base
