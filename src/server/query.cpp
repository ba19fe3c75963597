#include "server/query.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "server/api_error.h"

namespace vitrine::server {
namespace {

std::string unescaped(const std::string& name, std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    const std::string_view digits = text.substr(std::min(i + 1, text.size()), 2);
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2)
      throw bad_field(name, "a % is not followed by two hexadecimal digits");
    bytes += static_cast<char>(byte);
    i += 2;
  }
  return bytes;
}

}  // namespace

Query::Query(std::string_view text, std::initializer_list<std::string_view> names) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t sign = std::min(part.find('='), part.size());
    const std::string name(part.substr(0, sign));
    if (std::ranges::find(names, name) == names.end())
      throw ApiException(
          {.message = fmt::format("the query may have {}", fmt::join(names, ", ")), .code = "unknown_field"});
    if (!values_.emplace(name, unescaped(name, part.substr(std::min(sign + 1, part.size())))).second)
      throw bad_field(name, "stands twice in the query");
  }
}

std::optional<std::string> Query::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
}

std::size_t Query::number(std::string_view name, std::size_t end) const {
  const std::string digits = text(name).value_or("");
  std::size_t value = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || rest != digits.data() + digits.size() || value >= end)
    throw bad_field(std::string(name), fmt::format("must be a whole number below {}", end));
  return value;
}

}  // namespace vitrine::server
