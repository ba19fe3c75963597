#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "store/key_limits.h"

namespace vitrine::store {

// Limits that many keys share, by name, as a server's settings state them. A key names its plan (KeyLimits::plan).
using Plans = std::map<std::string, KeyLimits, std::less<>>;

// Letters, digits, dots, hyphens and underscores, 1 to 64 of them; not "none", which stands for no plan.
bool is_plan_name(std::string_view name);

// What a key keeps to: its own limits, and those of its plan for which it has none of its own. nullopt where it names a
// plan that is not there.
std::optional<KeyLimits> effective_limits(const Plans& plans, KeyLimits own);

}  // namespace vitrine::store
