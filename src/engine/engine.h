#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/memory_ledger.h"
#include "base/result.h"
#include "engine/chunk_budget.h"
#include "engine/model_runner.h"
#include "engine/request.h"
#include "engine/scheduler.h"
#include "engine/timeline_writers.h"
#include "engine/validate.h"
#include "kvcache/kv_cache.h"
#include "models/model.h"

namespace vitrine::engine {

struct EngineConfig {
  std::size_t context_length = 0;  // prompt and answer together; 0: the model's own
  tensor::DType kv_type = tensor::DType::kF16;
  std::optional<std::size_t> kv_memory_bytes = {};  // absent: one sequence of context_length tokens
  std::size_t max_sequences = 1;                    // that run at once
  std::size_t max_chunk_tokens = 512;               // most prompt rows of one step
  // The gap between two tokens of an answer, in seconds, up to which long prompts may stretch it; 0: to about twice
  // what it is without them.
  double target_gap_s = 0.0;
  bool prefix_cache = true;
  // Answers are published for later turns as they are generated. Saves settling them, but the bits of a later answer
  // then depend on how the conversation came about.
  bool publish_answers = false;
  bool static_batches = false;  // see SchedulerConfig
  // Each request reserves one run of neighbouring blocks for its prompt and its longest answer (max_tokens, else the
  // whole context) when it begins. Nothing grows later, nothing is shared: there is no prefix cache then. The same
  // bits, for comparison.
  bool contiguous_kv = false;
  // Without, every position is computed again for each token, in its own role: the same bits, for comparison.
  bool kv_cache = true;
  // A finished answer is read again as part of a prompt while nothing else is to be done, so that a conversation's next
  // turn finds all of it in the prefix cache: rows that were generated are never shared, their bits differ.
  bool settle_answers = false;
  // Nothing else must have been to do for so long: the next request of a client often comes at once.
  std::chrono::milliseconds settle_delay{0};
  // Work that does not get on for this long means that the engine is stalled.
  std::chrono::milliseconds stall_limit{30'000};
  // So often at most a request that waits hears of its place, where it asked to.
  std::chrono::milliseconds place_interval{250};
  // All but the tokens on which the bits of keys and values depend: model file, adapter, numeric paths, instruction
  // set.
  std::string prefix_seed = {};
};

// What a snapshot of the engine shows; counts of blocks are of kvcache::kBlockTokens tokens each.
struct EngineStats {
  std::size_t num_waiting = 0;
  std::size_t num_running = 0;
  std::size_t num_blocks = 0;
  std::size_t num_blocks_in_use = 0;
  std::size_t num_blocks_cached = 0;   // idle, kept for their prefix
  std::size_t num_blocks_touched = 0;  // that take memory: the others were never written
  std::size_t block_bytes = 0;
  std::size_t num_steps = 0;
  std::size_t num_preemptions = 0;
};

// A request in the engine, as a snapshot shows it.
struct SequenceStats {
  RequestId id{};
  bool is_running = false;
  bool has_started = false;  // and not running: preempted
  std::size_t prompt_tokens = 0;
  std::size_t computed_tokens = 0;    // of prompt and answer, cached ones included
  std::size_t completion_tokens = 0;  // so far
  std::size_t num_blocks = 0;
  std::optional<std::size_t> num_ahead = {};  // of those that wait: how many will begin before it, as things stand
};

// The engine at one moment, for people to look at. Linear in the number of blocks.
struct EngineSnapshot {
  EngineStats stats;
  std::vector<SequenceStats> sequences;  // running, then waiting, each in their order; without those in the background
  std::string blocks;                    // kvcache::block_map
};

// Runs requests over one model, many at once. submit, abort, validate, has_work and wait_for_work may be called from
// any thread; step and the rest from one thread, the engine thread, which owns everything behind the queue. The bits of
// a request's answer depend on the request alone, never on its neighbours, the chunk size, the cache or preemption.
class Engine {
 public:
  // The model and the ledger must outlive the engine. Fails with kUsage (a setting is wrong) or kNoMemory.
  static base::Result<std::unique_ptr<Engine>> create(const models::Model& model, EngineConfig config,
                                                      base::MemoryLedger& ledger);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::optional<Refusal> validate(const Request& request) const;
  // Queues a request; the message of the error is that of validate(). Events go to `callback` until one has a
  // finish_reason; the first may come before submit has returned.
  // `timeline` gets spans that follow each other without a gap: each wait, lookup, chunk of the prompt, decode step,
  // sampling and what lies between. It belongs to the engine thread until the last event of all requests that were
  // submitted with it; of several one at a time writes to it.
  base::Result<RequestId> submit(Request request, EventCallback callback, trace::Timeline* timeline = nullptr);
  // Ends a request with FinishReason::kAbort in the next step; no effect on one that has ended.
  void abort(RequestId id);
  // A paused request computes nothing until it is resumed, and gives its place to others. No effect on one that has
  // ended. Any thread.
  void pause(RequestId id) { note_pause(id, true); }
  void resume(RequestId id) { note_pause(id, false); }

  // Something else that wants the model's backend: called on the engine thread after each step, until it returns false.
  // A call should be short, the requests wait for it. It must not throw. Dropped when the engine dies. Any thread.
  using Errand = std::function<bool()>;
  void run_between_steps(Errand errand);

  void step();
  bool has_work() const;
  // Blocks until there is work that is not paused, or `stop` is requested; true when there is such work.
  bool wait_for_work(std::stop_token stop);
  // For EngineConfig::stall_limit there was work and the engine did not get on with it, by a step or a layer of one; or
  // requests waited and no step computed a position that was not known before. Any thread.
  bool is_stalled() const;

  // Sees the values of every forward pass from now on; null: nobody. Must outlive its use.
  void set_observer(models::ForwardObserver* observer) { observer_ = observer; }
  const EngineConfig& config() const { return config_; }
  // Most tokens a request can have, prompt and answer together: the context length or what the KV cache holds.
  std::size_t max_total_tokens() const;
  std::size_t hidden_size() const { return model_.config().hidden_size; }
  EngineStats stats() const;
  EngineSnapshot snapshot() const;
  // The first invariant that does not hold, in words; empty when all hold.
  std::string check_integrity() const { return scheduler_.check_integrity(); }

 private:
  Engine(const models::Model& model, EngineConfig config, kvcache::KvCache cache, base::MemoryLedger& ledger);

  std::vector<kvcache::PrefixDigest> prefix_digests(const Request& request) const;
  void note_pause(RequestId id, bool is_paused);
  bool has_news() const;
  void compute();
  void run_errand();
  void drain();
  bool is_resting() const;
  void rest();
  void tell_places();
  void tell_prefill(const SchedulerOutput& work, bool only_new);
  void note_progress();
  void publish(const SchedulerOutput& work, std::span<const SampleResult> results);
  void publish_token(const SampleResult& result);
  void finish(RequestId id, TokenEvent event);
  void settle(const Sequence& sequence);
  void note_memory();

  const models::Model& model_;
  const EngineConfig config_;
  base::MemoryLedger& ledger_;
  kvcache::KvCache cache_;
  Scheduler scheduler_;
  TimelineWriters writers_;
  ChunkBudget chunk_budget_;
  base::Heartbeat heartbeat_;
  ModelRunner runner_;
  models::ForwardObserver* observer_ = nullptr;
  std::size_t num_steps_ = 0;
  std::size_t num_preemptions_ = 0;
  std::size_t num_asking_ = 0;  // requests that asked for their progress
  std::chrono::steady_clock::time_point places_told_;
  std::chrono::steady_clock::time_point foreground_at_;  // when there was last more to do than the background's
  std::size_t noted_idle_bytes_ = 0;                     // moved from kKv to kPrefixCache in the ledger

  // What other threads hand over; everything else belongs to the engine thread.
  mutable std::mutex inbox_mutex_;
  std::condition_variable_any inbox_filled_;
  std::vector<std::unique_ptr<Sequence>> submitted_;
  std::vector<RequestId> aborted_;
  std::vector<std::pair<RequestId, bool>> pauses_;  // the newest last
  std::deque<Errand> errands_;                      // the first is at work
  std::uint64_t next_id_ = 0;
  std::size_t num_unfinished_ = 0;
  std::size_t num_paused_ = 0;  // of those
  std::size_t num_ready_ = 0;   // that could begin if there were room, as of the last step
  std::size_t num_positions_ = 0;
  std::size_t num_fruitless_steps_ = 0;  // since progress_at_
  std::chrono::steady_clock::time_point progress_at_;
};

}  // namespace vitrine::engine
