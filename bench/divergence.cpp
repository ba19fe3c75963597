// How far the fast numeric paths are from plain float32: mean Kullback-Leibler divergence of the next-token
// distribution and top-1 agreement, over every position of the given texts.
// usage: divergence MODEL [NUM_TOKENS [TEXT_FILE...]]
//        divergence MODEL --base FILE     against the distributions that llama-perplexity wrote, and their perplexity
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "bench/base_logits.h"
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

// One way to compute: the numeric path of either role, and which role the tokens take.
struct Path {
  const char* name;
  PathTable table;
  bool as_prompt;
  tensor::DType kv_type;
};
const Path kReference{"reference", PathTable::reference(), true, tensor::DType::kF32};
const std::array kFastPaths{
    Path{"throughput", {NumericPath::kThroughput, NumericPath::kLatency}, true, tensor::DType::kF16},
    Path{"latency", {NumericPath::kLatency, NumericPath::kLatency}, false, tensor::DType::kF16},
    Path{"pairs", {.pairs_attention = true}, true, tensor::DType::kF16}};

// A model on one path.
class PathModel {
 public:
  PathModel(const loader::ModelFiles& files, const Path& path)
      : path_(path),
        backend_({.isa = backends::cpu::supported_isas().back(),
                  .num_threads = tools::read_cpus().num_threads(),
                  .paths = path.table}),
        model_(models::load_model(files, backend_).value_or_throw()) {}

  models::SequencePass start(std::size_t num_tokens) const {
    return {*model_, {num_tokens, kChunk, kChunk}, path_.as_prompt ? num_tokens : 0, path_.kv_type};
  }

 private:
  Path path_;
  CpuBackend backend_;
  std::unique_ptr<models::Model> model_;
};

double log_sum_exp(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float logit : logits)
    sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

template <typename Values>
std::ptrdiff_t index_of_largest(const Values& values) {
  return std::ranges::max_element(values) - values.begin();
}

// A quantity over the positions: its mean and that mean's standard error.
struct Spread {
  double sum = 0.0;
  double sum_of_squares = 0.0;
  std::size_t count = 0;

  void add(double value) {
    sum += value;
    sum_of_squares += value * value;
    ++count;
  }
  double mean() const { return sum / static_cast<double>(count); }
  double error() const {
    const double variance = sum_of_squares / static_cast<double>(count) - mean() * mean();
    return std::sqrt(std::max(variance, 0.0) / static_cast<double>(count - 1));
  }
};

// What a path's distributions come to, position by position.
struct Scores {
  Spread divergence;  // of it from the reference, nats
  Spread agreement;   // 1 where both put the same token first
  Spread loss;        // minus the log-probability of the token that followed
  Spread base_loss;   // the reference's
};

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

void compare(const loader::ModelFiles& files, std::span<const TokenId> ids, const Path& path) {
  const PathModel reference_model(files, kReference);
  const PathModel fast_model(files, path);
  models::SequencePass reference = reference_model.start(ids.size());
  models::SequencePass fast = fast_model.start(ids.size());
  Scores scores;
  for (std::size_t start = 0; start < ids.size(); start += kChunk) {
    const auto part = ids.subspan(start, std::min(kChunk, ids.size() - start));
    reference.append(part, part.size(), nullptr);
    fast.append(part, part.size(), nullptr);
    for (std::size_t i = 0; i < part.size(); ++i) {
      scores.divergence.add(divergence(reference.logits(i), fast.logits(i)));
      scores.agreement.add(index_of_largest(reference.logits(i)) == index_of_largest(fast.logits(i)) ? 1.0 : 0.0);
    }
  }
  std::printf("%-10s  KL %.5f nats  top-1 agreement %.2f %%  (%zu tokens)\n", path.name, scores.divergence.mean(),
              100.0 * scores.agreement.mean(), ids.size());
  std::fflush(stdout);
}

// Below this the file has no more than the smallest of its codes.
constexpr double kSmallestBase = -16.0;

void score(const bench::BaseLogits::Row& base, std::span<const float> logits, TokenId next, Scores& scores) {
  const double norm = log_sum_exp(logits);
  double divergence = 0.0;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const double log_p = base.log_probability(id);
    if (log_p > kSmallestBase) divergence += std::exp(log_p) * (log_p - (static_cast<double>(logits[id]) - norm));
  }
  const auto next_idx = static_cast<std::size_t>(next);
  scores.divergence.add(divergence);
  scores.agreement.add(index_of_largest(base.codes) == index_of_largest(logits) ? 1.0 : 0.0);
  scores.loss.add(norm - static_cast<double>(logits[next_idx]));
  scores.base_loss.add(-base.log_probability(next_idx));
}

// As llama-perplexity does it: each chunk alone, its first token replaced by the BOS of models that have one.
Scores score_all(const PathModel& model, const bench::BaseLogits& base, std::span<const TokenId> prefix) {
  Scores scores;
  for (std::size_t chunk_idx = 0; chunk_idx < base.num_chunks(); ++chunk_idx) {
    const std::vector<TokenId> tokens = base.chunk(chunk_idx);
    std::vector<TokenId> input = tokens;
    if (!prefix.empty()) input.front() = prefix.front();
    models::SequencePass pass = model.start(input.size());
    for (std::size_t start = 0; start < input.size(); start += kChunk) {
      const auto part = std::span<const TokenId>(input).subspan(start, std::min(kChunk, input.size() - start));
      pass.append(part, part.size(), nullptr);
      for (std::size_t i = 0; i < part.size(); ++i) {
        const std::size_t position = start + i;
        if (position < base.first_scored() || position + 1 == input.size()) continue;
        score(base.row(chunk_idx, position - base.first_scored()), pass.logits(i), tokens[position + 1], scores);
      }
    }
  }
  return scores;
}

void print_scores(const tools::ModelBundle& bundle, const bench::BaseLogits& base, const Path& path) {
  const PathModel model(bundle.files, path);
  const Scores scores = score_all(model, base, bundle.tokenizer->prefix());
  const double perplexity = std::exp(scores.loss.mean());
  std::printf(
      "%-10s  KL %.6f +- %.6f nats  top-1 agreement %.3f +- %.3f %%  perplexity %.4f +- %.4f, of the file %.4f"
      "  (%zu positions)\n",
      path.name, scores.divergence.mean(), scores.divergence.error(), 100.0 * scores.agreement.mean(),
      100.0 * scores.agreement.error(), perplexity, perplexity * scores.loss.error(), std::exp(scores.base_loss.mean()),
      scores.loss.count);
  std::fflush(stdout);
}

void compare_with_file(const tools::ModelBundle& bundle, const char* file) {
  const bench::BaseLogits base(file);
  if (base.vocab_size() != bundle.tokenizer->vocab_size()) {
    throw base::Exception(base::ErrorKind::kUsage, std::string(file) + ": made with another vocabulary");
  }
  print_scores(bundle, base, kReference);
  for (const Path& path : kFastPaths)
    print_scores(bundle, base, path);
}

std::vector<TokenId> read_tokens(const tools::ModelBundle& bundle, std::size_t num_tokens,
                                 std::vector<std::string> names) {
  if (names.empty()) names = {"tests/data/quality/prose.txt", "tests/data/quality/code.txt"};
  std::vector<TokenId> ids;
  for (const std::string& name : names) {
    std::ifstream stream(name, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    auto part = bundle.tokenizer->encode(text, {.parse_special = false, .add_special = ids.empty()}).value_or_throw();
    part.resize(std::min(part.size(), num_tokens / names.size()));
    ids.insert(ids.end(), part.begin(), part.end());
  }
  return ids;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODEL [NUM_TOKENS [TEXT_FILE...]]\n       %s MODEL --base FILE\n", argv[0],
                 argv[0]);
    return 64;
  }
  const tools::ModelBundle bundle = tools::open_model(argv[1]).value_or_throw();
  if (argc == 4 && std::string_view(argv[2]) == "--base") {
    compare_with_file(bundle, argv[3]);
    return 0;
  }
  const std::size_t num_tokens = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 2000;
  const std::vector<TokenId> ids = read_tokens(bundle, num_tokens, {argv + std::min(argc, 3), argv + argc});
  for (const Path& path : kFastPaths)
    compare(bundle.files, ids, path);
  return 0;
}
