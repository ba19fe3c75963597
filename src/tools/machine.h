#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tools/cpus.h"

namespace vitrine::tools {

// What this process may use. Inside a container that is what its control group allows, not what the machine has; of
// several NUMA nodes, those that its memory may lie in.
struct Machine {
  std::string cpu;  // model name; empty where it can't be told
  Cpus cpus;
  std::uint64_t total_memory_bytes = 0;      // min(machine, control group, allowed nodes)
  std::uint64_t available_memory_bytes = 0;  // without swapping and without evicting other programs
};

// Reads /proc and /sys/fs/cgroup below `root` ("/" but in tests). What can't be read counts as unlimited; never fails.
Machine read_machine(const std::filesystem::path& root = "/");

// Whether a model of `file_bytes` is likely to run: the weights, a quarter more for KV cache and buffers, and 256 MB.
bool probably_fits(const Machine& machine, std::uint64_t file_bytes);

}  // namespace vitrine::tools
