#include "store/key_role.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"

namespace vitrine::store {
namespace {

constexpr std::array<std::pair<KeyRole, std::string_view>, 3> kRoles = {
    {{KeyRole::kUser, "user"}, {KeyRole::kAdmin, "admin"}, {KeyRole::kScrape, "scrape"}}};

}  // namespace

std::string_view role_name(KeyRole role) {
  return std::ranges::find(kRoles, role, [](const auto& row) { return row.first; })->second;
}

std::optional<KeyRole> parse_role(std::string_view name) {
  const auto found = std::ranges::find(kRoles, name, [](const auto& row) { return row.second; });
  return found == kRoles.end() ? std::nullopt : std::optional(found->first);
}

KeyRole role_of_number(std::int64_t number) {
  const auto role = static_cast<KeyRole>(number);
  if (std::ranges::any_of(kRoles, [&](const auto& row) { return row.first == role; })) return role;
  throw base::Exception(base::ErrorKind::kIo, fmt::format("keys.db: a key's role is {}, which is none", number));
}

}  // namespace vitrine::store
