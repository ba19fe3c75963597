#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/model.h"
#include "ops/backend.h"
#include "plan/network.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::lab {

// A tokenizer that is on disk.
struct NamedTokenizer {
  std::string name;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
};

// What a lab works with. Used by one thread; all that it refers to must outlive it.
struct Workbench {
  std::string model_name;
  const models::Model& model;
  const plan::Network& network;                     // the sizes of that model
  ops::Backend& backend;                            // for measuring what the machine can do
  std::size_t num_threads = 1;                      // of the backend
  const tokenizer::Tokenizer* tokenizer = nullptr;  // null: the model brings none
  std::span<const NamedTokenizer> tokenizers = {};
  std::vector<std::string> known_tokenizers = {};   // names that could be pulled
  bool is_quick = false;                            // the smallest sizes: to see it work, not to conclude
  std::function<void(double share)> progress = {};  // may be null
  const std::atomic<bool>* stop = nullptr;          // may be null; set: the lab ends with kInterrupted

  void report_progress(double share) const {
    if (progress) progress(share);
  }
  // Throws base::Exception (kInterrupted) where it was stopped.
  void check_stop() const;
  // Those of `lengths` that the model's context holds with `num_more` tokens besides. Throws (kUsage) where fewer than
  // `fewest` are left.
  std::vector<std::size_t> fitting(std::span<const std::size_t> lengths, std::size_t num_more,
                                   std::size_t fewest) const;
};

// How often the cases of a lab are measured.
struct Rounds {
  std::size_t fewest = kFewest;
  std::size_t most = 7;
  double budget_s = 60.0;  // no further round beyond `fewest` that would pass it
  double limit_s = 150.0;  // no further round at all that would pass it

  static constexpr std::size_t kFewest = 3;
  static Rounds quick() { return {.fewest = 1, .most = 1}; }
};

// Runs every case once a round, in turn forwards and backwards, so that what else the machine does falls on all alike.
// Returns the number of rounds.
std::size_t run_rounds(const Workbench& bench, const Rounds& rounds, std::size_t num_cases,
                       const std::function<void(std::size_t case_idx)>& run);

// Token ids that mean nothing, spread over the vocabulary, other ones for another seed: speed depends on sizes alone.
std::vector<TokenId> arbitrary_prompt(const Workbench& bench, std::size_t num_tokens, std::size_t seed);

}  // namespace vitrine::lab
