#include "tools/hub/python.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "tools/hub/environment.h"
#include "tools/hub/process.h"

namespace vitrine::hub {
namespace {

std::vector<std::string> python_candidates() {
  if (std::string chosen = environment("VITRINE_PYTHON"); !chosen.empty()) return {std::move(chosen)};
  return {"python3", "python"};
}

}  // namespace

base::Result<std::string> find_python(Observer& observer) {
  for (const std::string& python : python_candidates()) {
    const auto result = run_process({python, "-m", "pip", "--version"}, {}, [&] { return !observer.cancelled(); });
    if (result && result->exit_code == 0) return python;
    if (!result && result.error().kind == base::ErrorKind::kInterrupted) return result.error();
  }
  return base::Error{base::ErrorKind::kUnavailable,
                     "python3: not found, or without pip; install it (apt install python3-pip) or set VITRINE_PYTHON"};
}

std::string pip_reason(const std::string& error_tail) {
  std::string reason = "pip failed";
  std::size_t begin = 0;
  while (begin < error_tail.size()) {
    const std::size_t end = std::min(error_tail.find('\n', begin), error_tail.size());
    const std::string_view line = std::string_view(error_tail).substr(begin, end - begin);
    if (line.starts_with("ERROR: ")) reason = line.substr(7);
    begin = end + 1;
  }
  return reason;
}

}  // namespace vitrine::hub
