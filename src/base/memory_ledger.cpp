#include "base/memory_ledger.h"

#include <unistd.h>

#include <cstdio>
#include <memory>

namespace vitrine::base {

std::string_view memory_kind_name(MemoryKind kind) {
  constexpr std::array<std::string_view, kNumMemoryKinds> kNames = {"weights", "kv",           "activations",
                                                                    "scratch", "prefix_cache", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::size_t MemoryLedger::total_bytes() const {
  std::size_t total = 0;
  for (const auto& bytes : bytes_) {
    total += bytes.load(std::memory_order_relaxed);
  }
  return total;
}

std::optional<std::size_t> rss_bytes() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "r"), &std::fclose);
  std::size_t total_pages = 0;
  std::size_t resident_pages = 0;
  if (!file || std::fscanf(file.get(), "%zu %zu", &total_pages, &resident_pages) != 2) return std::nullopt;
  return resident_pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace vitrine::base
