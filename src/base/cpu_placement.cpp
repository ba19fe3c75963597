#include "base/cpu_placement.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <vector>

namespace vitrine::base {

bool run_on_cpu(unsigned cpu) {
  cpu_set_t* const set = CPU_ALLOC(cpu + 1);
  if (set == nullptr) return false;
  const std::size_t size = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(size, set);
  CPU_SET_S(cpu, size, set);
  const bool done = ::sched_setaffinity(0, size, set) == 0;
  CPU_FREE(set);
  return done;
}

bool interleave_memory(std::span<const unsigned> nodes) {
  int policy = MPOL_DEFAULT;
  if (nodes.empty() || ::syscall(SYS_get_mempolicy, &policy, nullptr, 0, nullptr, 0) != 0 || policy != MPOL_DEFAULT)
    return false;
  constexpr std::size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;
  std::vector<unsigned long> mask(std::ranges::max(nodes) / kWordBits + 1, 0);
  for (const unsigned node : nodes)
    mask[node / kWordBits] |= 1UL << (node % kWordBits);
  // The kernel reads one bit less than it is told.
  return ::syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, mask.data(), mask.size() * kWordBits + 1) == 0;
}

}  // namespace vitrine::base
