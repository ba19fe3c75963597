#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace vitrine::hub {

struct ProcessResult {
  int exit_code = 0;       // 128 + signal where one ended it
  std::string error_tail;  // the last bytes of its stderr
};

// Runs a program (found on PATH) with stdin and stdout closed off and waits for it. `on_wait` is called about five
// times a second; where it answers false the program is ended (SIGTERM) and the answer is kInterrupted.
// kMissing where there is no such program. `extra_environment`: "NAME=value" added to ours.
base::Result<ProcessResult> run_process(const std::vector<std::string>& command,
                                        const std::vector<std::string>& extra_environment,
                                        const std::function<bool()>& on_wait);

}  // namespace vitrine::hub
