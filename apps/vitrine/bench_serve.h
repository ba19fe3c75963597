#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/load/load_report.h"
#include "tools/load/load_run.h"
#include "vitrine/command.h"
#include "vitrine/parser.h"

namespace vitrine::cli {

// `vitrine bench serve URL`: how an OpenAI-compatible endpoint does under load.
class BenchServe {
 public:
  explicit BenchServe(const Parser& parser);
  int run(Context& context);

 private:
  // One run: so many at once, or so many a second.
  struct Case {
    std::size_t concurrency = 0;  // 0: open loop
    double rate = 0.0;
  };
  struct Result {
    Case what;
    tools::LoadReport report;
  };

  std::vector<Case> list_cases() const;
  std::vector<std::string> prompts(std::size_t count, std::uint64_t seed) const;
  Result measure(const Case& what, std::uint64_t seed, const Context& context) const;
  void print(const std::vector<Result>& results, const Context& context) const;
  void write_html(const std::vector<Result>& results) const;

  tools::LoadTarget target_;
  std::vector<std::size_t> concurrencies_;
  std::vector<std::string> rates_;
  std::size_t num_requests_ = 0;
  std::size_t num_words_ = 200;
  std::size_t num_shared_words_ = 0;
  std::string prompts_file_;
  std::string ttft_limit_;
  std::string tpot_limit_;
  std::string html_file_;
  std::size_t seed_ = 1;
};

}  // namespace vitrine::cli
