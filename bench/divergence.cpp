// How far the fast numeric paths are from plain float32: mean Kullback-Leibler divergence of the next-token
// distribution and top-1 agreement, over every position of the given texts.
// usage: divergence MODEL [NUM_TOKENS [TEXT_FILE...]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "models/registry.h"
#include "models/sequence_pass.h"
#include "tools/cpus.h"
#include "tools/open_model.h"

namespace {

using namespace vitrine;
using backends::cpu::CpuBackend;
using backends::cpu::NumericPath;
using backends::cpu::PathTable;

constexpr std::size_t kChunk = 64;

// A model on one path, fed the same tokens as its twin.
class Run {
 public:
  Run(const loader::ModelFiles& files, PathTable paths, bool as_prompt, tensor::DType kv_type, std::size_t num_tokens)
      : backend_({.isa = backends::cpu::supported_isas().back(),
                  .num_threads = tools::read_cpus().num_threads(),
                  .paths = paths}),
        model_(models::load_model(files, backend_).value_or_throw()),
        pass_(*model_, {num_tokens, kChunk, kChunk}, as_prompt ? num_tokens : 0, kv_type) {}

  void forward(std::span<const TokenId> ids) { pass_.append(ids, ids.size(), nullptr); }
  std::span<const float> logits(std::size_t row_idx) { return pass_.logits(row_idx); }

 private:
  CpuBackend backend_;
  std::unique_ptr<models::Model> model_;
  models::SequencePass pass_;
};

double log_sum_exp(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float logit : logits)
    sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

// Of the second distribution from the first, in nats.
double divergence(std::span<const float> reference, std::span<const float> other) {
  const double reference_norm = log_sum_exp(reference);
  const double other_norm = log_sum_exp(other);
  double sum = 0.0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double log_p = static_cast<double>(reference[i]) - reference_norm;
    sum += std::exp(log_p) * (log_p - (static_cast<double>(other[i]) - other_norm));
  }
  return sum;
}

void compare(const loader::ModelFiles& files, std::span<const TokenId> ids, const char* name, PathTable paths,
             bool as_prompt) {
  Run reference(files, PathTable::reference(), true, tensor::DType::kF32, ids.size());
  Run fast(files, paths, as_prompt, tensor::DType::kF16, ids.size());
  double sum = 0.0;
  std::size_t agreed = 0;
  for (std::size_t start = 0; start < ids.size(); start += kChunk) {
    const auto part = ids.subspan(start, std::min(kChunk, ids.size() - start));
    reference.forward(part);
    fast.forward(part);
    for (std::size_t i = 0; i < part.size(); ++i) {
      sum += divergence(reference.logits(i), fast.logits(i));
      agreed += std::ranges::max_element(reference.logits(i)) - reference.logits(i).begin() ==
                std::ranges::max_element(fast.logits(i)) - fast.logits(i).begin();
    }
  }
  const auto count = static_cast<double>(ids.size());
  std::printf("%-10s  KL %.5f nats  top-1 agreement %.2f %%  (%zu tokens)\n", name, sum / count,
              100.0 * static_cast<double>(agreed) / count, ids.size());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODEL [NUM_TOKENS [TEXT_FILE...]]\n", argv[0]);
    return 64;
  }
  const tools::ModelBundle bundle = tools::open_model(argv[1]).value_or_throw();
  const std::size_t num_tokens = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 2000;
  std::vector<std::string> names(argv + std::min(argc, 3), argv + argc);
  if (names.empty()) names = {"tests/data/quality/prose.txt", "tests/data/quality/code.txt"};
  std::vector<TokenId> ids;
  for (const std::string& name : names) {
    std::ifstream stream(name, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    auto part = bundle.tokenizer->encode(text, {.parse_special = false, .add_special = ids.empty()}).value_or_throw();
    part.resize(std::min(part.size(), num_tokens / names.size()));
    ids.insert(ids.end(), part.begin(), part.end());
  }
  compare(bundle.files, ids, "throughput", {NumericPath::kThroughput, NumericPath::kLatency}, true);
  compare(bundle.files, ids, "latency", {NumericPath::kLatency, NumericPath::kLatency}, false);
  return 0;
}
