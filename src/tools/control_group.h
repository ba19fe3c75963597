#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::tools {

// A folder of a control group that this process is in, directly or from above. Each may set a limit; the tightest
// counts.
struct GroupLevel {
  std::filesystem::path folder;
  bool is_version_2 = true;  // of control groups: the names of the files differ
};

// The levels that rule over `controller` ("memory", "cpu"), from the group itself up to the mount, as
// /proc/self/cgroup and /sys/fs/cgroup below `root` tell; empty where they can't be read.
std::vector<GroupLevel> group_levels(const std::filesystem::path& root, std::string_view controller);

// Lines of a small text file; empty where it can't be read.
std::vector<std::string> read_lines(const std::filesystem::path& path);
// The first number in a text, or in a file.
std::optional<std::uint64_t> first_number(std::string_view text);
std::optional<std::uint64_t> file_number(const std::filesystem::path& path);
// The number of the line that begins with `key`.
std::optional<std::uint64_t> keyed_number(const std::filesystem::path& path, std::string_view key);

}  // namespace vitrine::tools
