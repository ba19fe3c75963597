#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/cpu/peaks.h"
#include "tools/bench/kernel_bench.h"
#include "vitrine/command.h"
#include "vitrine/parser.h"

namespace vitrine::cli {

// `vitrine bench kernels`: each kernel by type and shape, held against what the machine does at most.
class BenchKernels {
 public:
  explicit BenchKernels(const Parser& parser);
  int run(Context& context);

 private:
  struct Result {
    std::string kernel;  // "product prompt", "product generated", "attention"
    tensor::DType type;
    std::size_t m, n, k;  // rows, outputs, inputs; of attention: rows, positions, width of the queries
    tools::KernelTiming timing;
    double bandwidth = 0.0;  // bytes per second at which as many bytes are read
    double peak = 0.0;       // operations per second of the unit that the kernel works on

    // The nearer of the two roofs.
    double roof_share() const;
  };

  std::vector<tensor::DType> chosen_types() const;
  void measure_products(std::vector<Result>& results, const Context& context);
  void measure_attention(std::vector<Result>& results);
  double bandwidth_at(double bytes);
  double peak_of(tensor::DType type, ops::Role role) const;
  void print(const std::vector<Result>& results, const Context& context) const;

  std::vector<std::string> types_;
  std::vector<std::size_t> rows_{1, 8, 64, 512};
  std::size_t outputs_ = 2048;
  std::size_t inputs_ = 2048;
  std::size_t num_threads_ = 0;
  std::vector<backends::cpu::Peak> peaks_;
};

}  // namespace vitrine::cli
