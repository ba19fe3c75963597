#pragma once

#include <cstdlib>

namespace vitrine::testing {

// How often a test of endurance does its work: `usual` times, or `soak` times with VITRINE_SOAK=1.
inline int soak_count(int usual, int soak) {
  return std::getenv("VITRINE_SOAK") != nullptr ? soak : usual;
}

}  // namespace vitrine::testing
