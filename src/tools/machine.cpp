#include "tools/machine.h"

#include <algorithm>
#include <limits>

#include "tools/control_group.h"

namespace vitrine::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* inactive_file;  // keys in memory.stat of the page cache, which the kernel takes back when memory is short
  const char* active_file;
};

struct MemoryLimit {
  std::uint64_t total = kUnlimited;
  std::uint64_t available = kUnlimited;
};

// The tightest limit of all levels.
MemoryLimit group_limit(const fs::path& root) {
  constexpr GroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ",
                                    "total_active_file "};
  constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", "inactive_file ", "active_file "};
  MemoryLimit tightest;
  for (const GroupLevel& level : group_levels(root, "memory")) {
    const GroupFiles& files = level.is_version_2 ? kVersion2 : kVersion1;
    const auto limit = file_number(level.folder / files.limit);
    if (!limit) continue;
    const fs::path stat = level.folder / "memory.stat";
    const std::uint64_t used = file_number(level.folder / files.usage).value_or(0);
    const std::uint64_t cache =
        keyed_number(stat, files.inactive_file).value_or(0) + keyed_number(stat, files.active_file).value_or(0);
    const std::uint64_t held = used - std::min(used, cache);
    tightest.total = std::min(tightest.total, *limit);
    tightest.available = std::min(tightest.available, *limit - std::min(*limit, held));
  }
  return tightest;
}

std::string cpu_name(const fs::path& root) {
  for (const std::string& line : read_lines(root / "proc/cpuinfo")) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

Machine read_machine(const fs::path& root) {
  constexpr std::uint64_t kKib = 1024;
  const fs::path meminfo = root / "proc/meminfo";
  const MemoryLimit limit = group_limit(root);
  Machine machine;
  machine.cpu = cpu_name(root);
  machine.cpus = read_cpus(root);
  machine.total_memory_bytes = std::min(keyed_number(meminfo, "MemTotal:").value_or(0) * kKib, limit.total);
  machine.available_memory_bytes = std::min(keyed_number(meminfo, "MemAvailable:").value_or(0) * kKib, limit.available);
  return machine;
}

bool probably_fits(const Machine& machine, std::uint64_t file_bytes) {
  constexpr std::uint64_t kFixedBytes = 256'000'000;
  const std::uint64_t available = machine.available_memory_bytes;
  return available > kFixedBytes && file_bytes / 4 * 5 <= available - kFixedBytes;
}

}  // namespace vitrine::tools
