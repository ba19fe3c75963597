#include "store/key_plans.h"

#include <algorithm>

namespace vitrine::store {
namespace {

constexpr std::size_t kMaxPlanNameBytes = 64;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

}  // namespace

bool is_plan_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxPlanNameBytes && name != "none" &&
         std::ranges::all_of(name, is_name_character);
}

std::optional<KeyLimits> effective_limits(const Plans& plans, KeyLimits own) {
  if (own.plan.empty()) return own;
  const auto found = plans.find(own.plan);
  if (found == plans.end()) return std::nullopt;
  for (const LimitRow& row : limit_rows()) {
    if (!(own.*row.number)) own.*row.number = found->second.*row.number;
  }
  if (own.models.empty()) own.models = found->second.models;
  return own;
}

}  // namespace vitrine::store
