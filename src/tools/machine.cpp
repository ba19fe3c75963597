#include "tools/machine.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace vitrine::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kMaxLines = 20000;

std::vector<std::string> read_lines(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; lines.size() < kMaxLines && std::getline(file, line);)
    lines.push_back(line);
  return lines;
}

std::optional<std::uint64_t> first_number(std::string_view text) {
  const std::size_t begin = text.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (code != std::errc()) return std::nullopt;
  return value;
}

// The number of the line that begins with `key`.
std::optional<std::uint64_t> keyed_number(const fs::path& path, std::string_view key) {
  for (const std::string& line : read_lines(path)) {
    if (line.starts_with(key)) return first_number(std::string_view(line).substr(key.size()));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> file_number(const fs::path& path) {
  const auto lines = read_lines(path);
  return lines.empty() ? std::nullopt : first_number(lines.front());
}

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

// Each level from the group up to the mount may set a limit: the tightest one counts.
MemoryLimit tightest_limit(const fs::path& mount, const fs::path& group, const GroupFiles& files) {
  MemoryLimit tightest;
  fs::path level = group.relative_path();
  while (true) {
    const fs::path folder = mount / level;
    if (const auto limit = file_number(folder / files.limit)) {
      const std::uint64_t used = file_number(folder / files.usage).value_or(0);
      const fs::path stat = folder / "memory.stat";
      const std::uint64_t cache =
          keyed_number(stat, files.inactive_file).value_or(0) + keyed_number(stat, files.active_file).value_or(0);
      const std::uint64_t held = used - std::min(used, cache);
      tightest.total = std::min(tightest.total, *limit);
      tightest.available = std::min(tightest.available, *limit - std::min(*limit, held));
    }
    if (level.empty()) return tightest;
    level = level.parent_path();
  }
}

// Lines of /proc/self/cgroup: "0::/path" (version 2), "7:memory:/path" (version 1).
MemoryLimit group_limit(const fs::path& root) {
  const fs::path mount = root / "sys/fs/cgroup";
  MemoryLimit limit;
  for (const std::string& line : read_lines(root / "proc/self/cgroup")) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    MemoryLimit found;
    if (controllers.empty()) {
      found = tightest_limit(mount, group, {"memory.max", "memory.current", "inactive_file ", "active_file "});
    } else if (controllers.find("memory") != std::string::npos) {
      found = tightest_limit(
          mount / "memory", group,
          {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ", "total_active_file "});
    }
    limit.total = std::min(limit.total, found.total);
    limit.available = std::min(limit.available, found.available);
  }
  return limit;
}

std::string cpu_name(const fs::path& root) {
  for (const std::string& line : read_lines(root / "proc/cpuinfo")) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

unsigned usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

Machine read_machine(const fs::path& root) {
  constexpr std::uint64_t kKib = 1024;
  const fs::path meminfo = root / "proc/meminfo";
  const MemoryLimit limit = group_limit(root);
  Machine machine;
  machine.cpu = cpu_name(root);
  machine.num_cpus = usable_cpus();
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
