#include "tools/hub/environment.h"

#include <cstdlib>

namespace vitrine::hub {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace vitrine::hub
