#pragma once

#include <string>
#include <vector>

namespace vitrine::testing {

struct RunResult {
  int exit_code = 0;  // 1000 + signal where one ended it
  std::string out;
  std::string err;
  double seconds = 0;
};

// Runs the built program with empty stdin and these words, adding NAME=value pairs to its environment.
RunResult run_vitrine(const std::vector<std::string>& words, const std::vector<std::string>& environment = {});

// Expects that it ended so, with nothing on stdout and one line on stderr that holds `text`.
void expect_refusal(const RunResult& result, int exit_code, const std::string& text);

}  // namespace vitrine::testing
