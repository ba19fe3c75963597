#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "base/memory_ledger.h"
#include "engine/engine.h"
#include "tools/lab/workbench.h"

namespace vitrine::lab {

// How one request went. Times are seconds on the clock of its EngineRun.
struct Outcome {
  double submitted_s = 0.0;
  double ended_s = 0.0;
  std::vector<double> token_times_s;
  std::vector<TokenId> tokens;
  std::size_t cached_tokens = 0;
  engine::RequestId id{};
  bool has_ended = false;

  double ttft_s() const { return token_times_s.front() - submitted_s; }
  double total_s() const { return ended_s - submitted_s; }
  // Between neighbouring tokens.
  std::vector<double> gaps_s() const;
  // The mean of them.
  double tpot_s() const;
};

// An engine over the bench's model that a lab drives step by step, in this process: no HTTP, no text.
class EngineRun {
 public:
  // Throws base::Exception where the engine can't be made so.
  EngineRun(const Workbench& bench, engine::EngineConfig config);

  // The index of its outcome. With `stop_after` the client takes no more than so many tokens, though it asked for more.
  std::size_t submit(engine::Request request, std::size_t stop_after = 0);
  void step();
  // Steps until nothing is left to do. Throws where the bench is stopped.
  void finish();
  // Ends all that is under way.
  void abort_all();

  const Outcome& outcome(std::size_t request_idx) const { return outcomes_[request_idx]; }
  const std::deque<Outcome>& outcomes() const { return outcomes_; }
  // Forgets the outcomes; nothing may be under way.
  void clear();
  double now_s() const;
  engine::Engine& engine() { return *engine_; }

 private:
  const Workbench& bench_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  base::MemoryLedger ledger_;
  std::unique_ptr<engine::Engine> engine_;
  std::deque<Outcome> outcomes_;
};

// A request for exactly so many tokens, the most probable ones.
engine::Request exact_request(std::vector<TokenId> prompt, std::size_t num_tokens);

// Bytes of a KV cache that holds so many tokens, in whole blocks.
std::size_t kv_bytes_for(const Workbench& bench, std::size_t num_tokens);

}  // namespace vitrine::lab
