#pragma once

#include <memory>
#include <string>

#include "backends/cpu/cpu_backend.h"
#include "models/model.h"
#include "plan/network.h"
#include "support/chat_model.h"
#include "tools/lab/workbench.h"
#include "tools/open_model.h"

namespace vitrine::lab {

// A workbench over the tiny Llama, which answers at once.
class TinyBench {
 public:
  TinyBench();
  Workbench& bench() { return *bench_; }

 private:
  testing::ChatModel files_;
  tools::ModelBundle bundle_;
  backends::cpu::CpuBackend backend_;
  std::unique_ptr<models::Model> model_;
  plan::Network network_;
  std::vector<NamedTokenizer> tokenizers_;
  std::unique_ptr<Workbench> bench_;
};

// Runs a spread of which says `median`, clear enough to conclude from.
inline Spread clear(double median) {
  return {.median = median, .low = 0.999 * median, .high = 1.001 * median, .num_runs = 5};
}
// One that says nothing.
inline Spread vague(double median) {
  return {.median = median, .low = 0.3 * median, .high = 3.0 * median, .num_runs = 5};
}

// What must hold of every report, whatever it found: the JSON's fields, rows of equal keys, a cell for each column,
// plots that are well-formed, Markdown and a page that hold all of it.
void expect_whole(const Report& report);

}  // namespace vitrine::lab
