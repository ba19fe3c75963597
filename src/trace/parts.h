#pragma once

#include <array>
#include <cstdint>

#include "trace/timeline.h"

namespace vitrine::trace {

// A wall time divided among stages that do not overlap: the stages and unaccounted_ns() sum to wall_ns.
struct Parts {
  std::array<std::int64_t, kNumStages> stage_ns = {};
  std::int64_t wall_ns = 0;

  void add(Stage stage, std::int64_t length_ns) { stage_ns[static_cast<std::size_t>(stage)] += length_ns; }
  void add(const Parts& other);  // its stages; its wall time is a part of this one's
  // Wall time that lies in no span.
  std::int64_t unaccounted_ns() const;
};

// Of the wall time of a timeline, by its top-level spans; where two overlap, the time is the first one's. What lies in
// `hole` is left out: it is another's to divide. Dropped spans are taken to lie in it where it is not empty.
Parts parts_outside(const Timeline& timeline, Interval hole);
// The same with nothing left out.
Parts parts_of(const Timeline& timeline);

}  // namespace vitrine::trace
