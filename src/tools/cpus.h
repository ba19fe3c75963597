#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace vitrine::tools {

// The CPUs that this process may run on.
struct Cpus {
  std::vector<unsigned> allowed;  // by the kernel's numbers, rising; never empty
  std::vector<unsigned> cores;    // of each core one of them: hyper-threads of one core count once; node after node
  std::vector<unsigned> nodes;    // NUMA nodes that they lie in, rising; empty where the kernel names none
  std::optional<double> quota;    // CPUs' worth of time that the control group gives

  // A thread for each core, as far as the quota pays: a second thread of a core shares the units that multiply, and one
  // that the control group stops holds the others up.
  std::size_t num_threads() const;
  std::size_t num_nodes() const { return nodes.empty() ? 1 : nodes.size(); }
};

// Reads /sys and /proc below `root` ("/" but in tests) for the CPUs `allowed`, or those of this process. What can't be
// read counts as one core a CPU, one node and no quota; never fails.
Cpus read_cpus(const std::filesystem::path& root = "/", std::span<const unsigned> allowed = {});

}  // namespace vitrine::tools
