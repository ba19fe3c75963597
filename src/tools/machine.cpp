#include "tools/machine.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include "tools/control_group.h"

namespace vitrine::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kKib = 1024;
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

// "0-1,4" as the kernel writes lists.
bool lists(std::string_view list, std::uint64_t number) {
  while (!list.empty()) {
    const std::string_view range = list.substr(0, list.find(','));
    const std::size_t dash = range.find('-');
    const auto first = first_number(range);
    const auto last = dash == std::string_view::npos ? first : first_number(range.substr(dash));
    if (first && last && *first <= number && number <= *last) return true;
    list.remove_prefix(std::min(range.size() + 1, list.size()));
  }
  return false;
}

std::optional<std::string> allowed_nodes(const fs::path& root) {
  constexpr std::string_view kKey = "Mems_allowed_list:";
  for (const std::string& line : read_lines(root / "proc/self/status")) {
    if (line.starts_with(kKey)) return line.substr(kKey.size());
  }
  return std::nullopt;
}

// What the NUMA nodes that this process may take memory from have, where those are not all of them.
MemoryLimit node_limit(const fs::path& root) {
  const std::optional<std::string> allowed = allowed_nodes(root);
  MemoryLimit limit{0, 0};
  bool is_limited = false;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(root / "sys/devices/system/node", ignored)) {
    const std::string name = entry.path().filename().string();
    const auto node = first_number(name);
    if (!name.starts_with("node") || !node) continue;
    if (allowed && !lists(*allowed, *node)) {
      is_limited = true;
      continue;
    }
    const auto kib = [&](std::string_view key) {
      return keyed_number(entry.path() / "meminfo", "Node " + std::to_string(*node) + " " + std::string(key))
          .value_or(0);
    };
    limit.total += kib("MemTotal:") * kKib;
    limit.available += (kib("MemFree:") + kib("Active(file):") + kib("Inactive(file):")) * kKib;
  }
  return is_limited ? limit : MemoryLimit{};
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
  const fs::path meminfo = root / "proc/meminfo";
  const MemoryLimit group = group_limit(root);
  const MemoryLimit nodes = node_limit(root);
  const MemoryLimit limit{std::min(group.total, nodes.total), std::min(group.available, nodes.available)};
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
