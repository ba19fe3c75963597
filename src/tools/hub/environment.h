#pragma once

#include <string>

namespace vitrine::hub {

// The value of an environment variable; empty where it is not set.
std::string environment(const char* name);

}  // namespace vitrine::hub
