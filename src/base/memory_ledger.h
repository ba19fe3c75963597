#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string_view>

namespace vitrine::base {

enum class MemoryKind { kWeights, kKv, kActivations, kScratch, kPrefixCache, kOther };
inline constexpr std::size_t kNumMemoryKinds = 6;

// "weights", "kv", ...: the field of a report is this name with "_bytes" behind it.
std::string_view memory_kind_name(MemoryKind kind);

// How many bytes each kind of large buffer holds; whoever makes a buffer notes it here. One ledger per process, owned
// by the composition root and passed by reference; any thread may write and read.
class MemoryLedger {
 public:
  void add(MemoryKind kind, std::size_t bytes) { entry(kind).fetch_add(bytes, std::memory_order_relaxed); }
  void remove(MemoryKind kind, std::size_t bytes) { entry(kind).fetch_sub(bytes, std::memory_order_relaxed); }

  std::size_t bytes(MemoryKind kind) const {
    return bytes_[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  }
  std::size_t total_bytes() const;

 private:
  std::atomic<std::size_t>& entry(MemoryKind kind) { return bytes_[static_cast<std::size_t>(kind)]; }

  std::array<std::atomic<std::size_t>, kNumMemoryKinds> bytes_ = {};
};

// Bytes of this process that are in memory now (/proc/self/statm); nullopt where the system has no such file.
std::optional<std::size_t> rss_bytes();

}  // namespace vitrine::base
