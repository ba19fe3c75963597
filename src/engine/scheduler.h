#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/fair_share.h"
#include "engine/sequence.h"
#include "kvcache/block_manager.h"

namespace vitrine::engine {

// The next num_rows positions of a sequence, from its num_computed() on.
struct ScheduledRows {
  Sequence* sequence = nullptr;
  std::size_t num_rows = 0;
  bool starts = false;  // the first rows since it waited

  // The step catches up with the last token, so the next one is sampled from it.
  bool samples() const { return num_rows == sequence->num_pending() && sequence->wants_token(); }
};

// One step's work: generated rows come first, then chunks of prompts. A sequence appears at most once.
struct SchedulerOutput {
  std::chrono::steady_clock::time_point began;
  std::vector<ScheduledRows> rows;
  std::size_t num_preempted = 0;
  std::size_t num_answering = 0;    // sequences with a generated row in it
  std::size_t num_prompt_rows = 0;  // rows besides
};

struct SchedulerConfig {
  std::size_t max_sequences = 1;       // that run at once
  std::size_t max_chunk_tokens = 512;  // most rows of one step besides one generated row per sequence
  // Nobody joins a batch that runs: the next one begins when all of it have ended. For comparison.
  bool static_batches = false;
  // A sequence gets one run of neighbouring blocks for all tokens that it may come to have; its blocks never change.
  // For comparison.
  bool contiguous_kv = false;
  // Blocks of answers are published as well, though the bits of generated rows differ from those of prompt rows.
  bool publish_answers = false;
};

// Owns every sequence and decides which positions each step computes. A sequence runs only once the cache has room for
// all tokens it has and one more; when a running one then needs a block and none is left, the last in order is
// preempted: it gives its blocks up, waits, and computes them again, generated positions as generated rows. So the
// first in order always finishes. Of those that wait with equal priority the next is one that had begun already, else
// the first of the tenant served least (FairShare); it is not overtaken while it does not fit. Those in the background
// give way to all others at once, paused ones to whoever waits. No model, no tensors; owned by the engine thread.
class Scheduler {
 public:
  Scheduler(SchedulerConfig config, std::size_t num_blocks) : config_(config), blocks_(num_blocks) {}

  void add(std::unique_ptr<Sequence> sequence);
  // Valid until the next call. The caller computes the rows, then calls update(). A step that holds generated rows has
  // at most `max_beside_answers` rows besides, others max_chunk_tokens.
  const SchedulerOutput& schedule(std::size_t max_beside_answers = std::numeric_limits<std::size_t>::max());
  // Running sequences whose next row is a generated one.
  std::size_t num_answering() const;
  // The scheduled rows were computed: counts them and publishes full prompt blocks.
  void update();
  // A paused sequence gets no rows. It keeps its blocks until room is needed or another waits, which then goes first.
  void set_paused(RequestId id, bool is_paused);
  // Takes a sequence out and gives its blocks back; null when there is none with this id.
  std::unique_ptr<Sequence> remove(RequestId id);

  // All others, those in the background or paused left out.
  std::size_t num_prompts() const {
    return num_running() + num_waiting() - num_answering() - num_background() - num_paused_;
  }
  std::size_t num_paused() const { return num_paused_; }
  // Of those that wait, the ones that could begin if there were room.
  std::size_t num_ready() const;
  // Positions that were computed for the first time: grows whenever anything gets on.
  std::size_t num_positions() const { return num_positions_; }
  std::size_t num_background() const;
  // Whether any other has something to compute: not paused, not in the background.
  bool has_foreground() const;
  // The oldest one in the background that waits.
  std::optional<RequestId> oldest_background() const;

  bool empty() const { return waiting_.empty() && running_.empty(); }
  std::size_t num_waiting() const { return waiting_.size(); }
  std::size_t num_running() const { return running_.size(); }
  const kvcache::BlockManager& blocks() const { return blocks_; }
  // Those that run, then those that wait, each by QueueKey.
  std::vector<const Sequence*> sequences() const;
  // Those that wait and would begin if there were room, in the order in which they will as things stand; see
  // engine/waiting_order.h.
  std::vector<Sequence*> waiting_order() const;

  // The first invariant that does not hold, in words; empty when all hold.
  std::string check_integrity() const;

 private:
  using Queue = std::map<QueueKey, std::unique_ptr<Sequence>>;

  void suspend_background();
  void suspend_paused();
  void make_room_for_running();
  bool make_room(Sequence& sequence);
  Queue::iterator next_victim();
  void suspend(Queue::iterator place);
  std::size_t schedule_running(std::size_t chunk_left);
  void schedule_waiting(std::size_t chunk_left);
  bool may_admit() const;
  Queue::iterator next_waiting();
  std::size_t num_shareable(const Sequence& sequence) const;
  bool admit(Sequence& sequence);
  kvcache::BlockManager::Reservation reservation_of(const Sequence& sequence) const;
  std::string check_run(const Sequence& sequence) const;
  static Queue::iterator find(Queue& queue, RequestId id);
  static std::unique_ptr<Sequence> take(Queue& queue, RequestId id);

  SchedulerConfig config_;
  kvcache::BlockManager blocks_;
  Queue waiting_;
  Queue running_;
  FairShare shares_;
  std::size_t num_paused_ = 0;
  std::size_t num_positions_ = 0;
  std::size_t batch_left_ = 0;  // static batches: that may still join the one that runs
  SchedulerOutput output_;
};

}  // namespace vitrine::engine
