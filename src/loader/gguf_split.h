#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace vitrine::loader {

constexpr std::uint64_t kMaxSplitParts = 65535;  // split.count is a uint16

// The name of one part of a split GGUF model: DIRECTORY/STEM-00001-of-00003.gguf.
struct SplitName {
  std::filesystem::path directory;
  std::string stem;
  std::uint64_t part_idx = 0;  // from 0, where the name counts from 1
  std::uint64_t num_parts = 1;
};

// nullopt when the file name has not that form, or its numbers make no sense (part 0, part 4 of 3).
std::optional<SplitName> parse_split_name(const std::filesystem::path& path);
std::filesystem::path split_part_path(const SplitName& name, std::uint64_t part_idx);

}  // namespace vitrine::loader
