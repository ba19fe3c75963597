#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/doctor/check.h"
#include "tools/machine.h"

namespace vitrine::doctor {

// A cache of the first CPU.
struct CacheFacts {
  std::string name;  // "L1d", "L2"
  std::uint64_t size_bytes = 0;
};

// What the checks of a machine look at beside tools::Machine.
struct HostFacts {
  std::vector<CacheFacts> caches;
  std::string huge_pages;  // "always", "madvise", "never"; empty where the kernel does not say
  bool has_amx = false;    // the CPU has tiles, whether or not the kernel permits them
  bool has_avx2 = false;
};
// Reads /proc and /sys below `root` ("/" but in tests). What can't be read is left out.
HostFacts read_host(const std::filesystem::path& root = "/");

// What this program makes of the machine.
struct RunFacts {
  std::string isa;                // the instruction set that is used: "avx512"
  std::vector<std::string> isas;  // those that could be, lowest first
  std::size_t num_threads = 1;
  double read_bytes_per_s = 0.0;  // 0: not measured
  double flops_per_s = 0.0;       // of prompt rows; 0: not measured
};

std::vector<Check> check_machine(const tools::Machine& machine, const HostFacts& host, const RunFacts& run);

}  // namespace vitrine::doctor
