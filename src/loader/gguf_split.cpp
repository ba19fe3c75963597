#include "loader/gguf_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace vitrine::loader {
namespace {

constexpr std::size_t kDigits = 5;
constexpr std::string_view kBetween = "-of-";
constexpr std::string_view kExtension = ".gguf";

std::optional<std::uint64_t> parse_number(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (code != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<SplitName> parse_split_name(const std::filesystem::path& path) {
  constexpr std::size_t kTailBytes = 1 + kDigits + kBetween.size() + kDigits + kExtension.size();
  const std::string file_name = path.filename().string();
  if (file_name.size() <= kTailBytes) return std::nullopt;
  const std::string_view tail = std::string_view(file_name).substr(file_name.size() - kTailBytes);
  if (tail.front() != '-' || tail.substr(1 + kDigits, kBetween.size()) != kBetween || !tail.ends_with(kExtension)) {
    return std::nullopt;
  }
  const auto part = parse_number(tail.substr(1, kDigits));
  const auto num_parts = parse_number(tail.substr(1 + kDigits + kBetween.size(), kDigits));
  if (!part || !num_parts || *part < 1 || *part > *num_parts || *num_parts > kMaxSplitParts) return std::nullopt;
  return SplitName{path.parent_path(), file_name.substr(0, file_name.size() - kTailBytes), *part - 1, *num_parts};
}

std::filesystem::path split_part_path(const SplitName& name, std::uint64_t part_idx) {
  return name.directory / fmt::format("{}-{:05}-of-{:05}.gguf", name.stem, part_idx + 1, name.num_parts);
}

}  // namespace vitrine::loader
