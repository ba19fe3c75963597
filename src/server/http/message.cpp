#include "server/http/message.h"

#include <algorithm>

namespace vitrine::server {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool is_same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string_view HttpRequest::header(std::string_view name) const {
  const auto found =
      std::ranges::find_if(headers, [&](const auto& header) { return is_same_name(header.first, name); });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace vitrine::server
