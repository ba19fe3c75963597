#include "tools/control_group.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>

namespace vitrine::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxLines = 20000;

bool names(std::string_view controllers, std::string_view controller) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == controller) return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

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

std::optional<std::uint64_t> file_number(const fs::path& path) {
  const auto lines = read_lines(path);
  return lines.empty() ? std::nullopt : first_number(lines.front());
}

std::optional<std::uint64_t> keyed_number(const fs::path& path, std::string_view key) {
  for (const std::string& line : read_lines(path)) {
    if (line.starts_with(key)) return first_number(std::string_view(line).substr(key.size()));
  }
  return std::nullopt;
}

// Lines of /proc/self/cgroup: "0::/path" (version 2), "7:memory:/path" (version 1).
std::vector<GroupLevel> group_levels(const fs::path& root, std::string_view controller) {
  std::vector<GroupLevel> levels;
  for (const std::string& line : read_lines(root / "proc/self/cgroup")) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !names(controllers, controller)) continue;
    const fs::path mount = root / "sys/fs/cgroup" / (controllers.empty() ? fs::path() : fs::path(controller));
    for (fs::path level = fs::path(line.substr(second + 1)).relative_path();; level = level.parent_path()) {
      levels.push_back({mount / level, controllers.empty()});
      if (level.empty()) break;
    }
  }
  return levels;
}

}  // namespace vitrine::tools
