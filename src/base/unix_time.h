#pragma once

#include <chrono>
#include <cstdint>

namespace vitrine::base {

// Seconds since 1970, by the wall clock.
inline std::int64_t unix_time_s() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace vitrine::base
