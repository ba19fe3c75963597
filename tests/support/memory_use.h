#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>

namespace vitrine::testing {

// What this process has for itself, in memory and swapped out.
inline std::size_t memory_use_bytes() {
  std::ifstream status("/proc/self/status");
  std::size_t kib = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:") || line.starts_with("VmSwap:")) kib += std::stoul(line.substr(line.find(':') + 1));
  }
  return kib * 1024;
}

// By how much that is more than `before`; 0 under a sanitizer, which keeps much memory of its own.
inline std::size_t grown_bytes(std::size_t before) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return before - before;
#else
  return std::max(before, memory_use_bytes()) - before;
#endif
}

}  // namespace vitrine::testing
