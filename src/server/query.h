#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace vitrine::server {

// What stands after the question mark of a request's target: "by=key&from=2025-03-14", with %XX for a byte.
class Query {
 public:
  // Throws ApiException (400) for a name that is not among `names`, for one that stands twice, and for a % without two
  // digits.
  Query(std::string_view text, std::initializer_list<std::string_view> names);

  // Nothing where it is absent or empty.
  std::optional<std::string> text(std::string_view name) const;
  // Throws ApiException (400) where it is absent, no whole number, or not below `end`.
  std::size_t number(std::string_view name, std::size_t end) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace vitrine::server
