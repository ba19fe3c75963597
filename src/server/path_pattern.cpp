#include "server/path_pattern.h"

#include <algorithm>

namespace vitrine::server {
namespace {

// Takes the first part off a path, with the slash after it.
std::string_view take_part(std::string_view& path) {
  const std::string_view part = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(path.size(), part.size() + 1));
  return part;
}

bool is_parameter(std::string_view part) {
  return part.starts_with('{') && part.ends_with('}');
}

}  // namespace

std::optional<std::vector<std::string>> match_path(std::string_view pattern, std::string_view path) {
  if (std::ranges::count(pattern, '/') != std::ranges::count(path, '/')) return std::nullopt;
  std::vector<std::string> values;
  while (!pattern.empty() || !path.empty()) {
    const std::string_view wanted = take_part(pattern);
    const std::string_view given = take_part(path);
    if (is_parameter(wanted) && !given.empty()) {
      values.emplace_back(given);
    } else if (wanted != given) {
      return std::nullopt;
    }
  }
  return values;
}

std::string fill_pattern(std::string_view pattern, std::string_view path) {
  std::string filled;
  while (!pattern.empty()) {
    const bool is_last = pattern.find('/') == std::string_view::npos;
    const std::string_view wanted = take_part(pattern);
    const std::string_view given = take_part(path);
    filled += is_parameter(wanted) && !given.empty() ? given : wanted;
    if (!is_last) filled += '/';
  }
  return filled;
}

}  // namespace vitrine::server
