#pragma once

#include <string>

#include "base/result.h"
#include "tools/hub/observer.h"

// Python and pip on this machine, by which packages are fetched: pip knows the user's index, mirror and proxy.
namespace vitrine::hub {

// The first Python that has pip ($VITRINE_PYTHON, python3, python); kUnavailable where there is none.
base::Result<std::string> find_python(Observer& observer);

// The line by which pip says what went wrong, from the end of what it wrote on stderr.
std::string pip_reason(const std::string& error_tail);

}  // namespace vitrine::hub
