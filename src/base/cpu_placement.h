#pragma once

#include <span>

namespace vitrine::base {

// Keeps the calling thread on one CPU, by the kernel's number. False where the kernel refuses; the thread then runs
// where it ran.
bool run_on_cpu(unsigned cpu);

// Memory that this thread, and threads that it starts from now on, are the first to touch comes from the given NUMA
// nodes by turns, page by page (Linux: set_mempolicy(2), MPOL_INTERLEAVE). False where the kernel refuses, or where
// somebody has chosen a policy already (numactl), which stays.
bool interleave_memory(std::span<const unsigned> nodes);

}  // namespace vitrine::base
