#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vitrine::store {

// What a key may do. The numbers are those of the database.
enum class KeyRole : std::int64_t {
  kUser = 0,    // ask the models
  kAdmin = 1,   // that, and all else
  kScrape = 2,  // read the counters at /metrics and nothing else
};

// "user", "admin" or "scrape".
std::string_view role_name(KeyRole role);
std::optional<KeyRole> parse_role(std::string_view name);
// Throws base::Exception (kIo) for a number that is none of them.
KeyRole role_of_number(std::int64_t number);

}  // namespace vitrine::store
