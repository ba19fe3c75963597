#pragma once

#include <chrono>

namespace vitrine::base {

// Seconds since a moment of the steady clock.
inline double seconds_since(std::chrono::steady_clock::time_point moment) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - moment).count();
}

}  // namespace vitrine::base
