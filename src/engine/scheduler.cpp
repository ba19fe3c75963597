#include "engine/scheduler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/waiting_order.h"

namespace vitrine::engine {
namespace {

// Of a step in the background: who comes meanwhile waits for it to end.
constexpr std::size_t kBackgroundTokens = 32;

}  // namespace

void Scheduler::add(std::unique_ptr<Sequence> sequence) {
  const QueueKey key = sequence->key();
  shares_.enter(sequence->request().tenant);
  waiting_.emplace(key, std::move(sequence));
}

std::size_t Scheduler::num_answering() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      running_, [](const auto& item) { return item.second->next_is_generated() && !item.second->is_paused(); }));
}

const SchedulerOutput& Scheduler::schedule(std::size_t max_beside_answers) {
  output_.began = std::chrono::steady_clock::now();
  output_.rows.clear();
  output_.num_preempted = 0;
  output_.num_prompt_rows = 0;
  const bool is_foreground = has_foreground();
  if (is_foreground) suspend_background();
  if (num_paused_ > 0) suspend_paused();
  make_room_for_running();
  output_.num_answering = num_answering();
  const std::size_t limit = output_.num_answering > 0 ? max_beside_answers
                            : is_foreground           ? config_.max_chunk_tokens
                                                      : kBackgroundTokens;
  schedule_waiting(schedule_running(std::min(limit, config_.max_chunk_tokens)));
  std::ranges::stable_partition(output_.rows,
                                [](const ScheduledRows& rows) { return rows.sequence->next_is_generated(); });
  return output_;
}

bool Scheduler::has_foreground() const {
  const auto has_one = [](const Queue& queue) {
    return std::ranges::any_of(queue,
                               [](const auto& item) { return !item.first.background && !item.second->is_paused(); });
  };
  return has_one(running_) || has_one(waiting_);
}

// What they have computed stays cached, so beginning again costs them a block at most.
void Scheduler::suspend_background() {
  while (!running_.empty() && std::prev(running_.end())->first.background)
    suspend(std::prev(running_.end()));
}

// A client that takes nothing of its answer must not keep others from theirs.
void Scheduler::suspend_paused() {
  if (num_ready() == 0) return;
  for (auto place = running_.begin(); place != running_.end();) {
    const auto next = std::next(place);
    if (place->second->is_paused()) suspend(place);
    place = next;
  }
}

std::size_t Scheduler::num_ready() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      waiting_, [](const auto& item) { return !item.first.background && !item.second->is_paused(); }));
}

Scheduler::Queue::iterator Scheduler::find(Queue& queue, RequestId id) {
  return std::ranges::find(queue, id, [](const auto& item) { return item.first.id; });
}

void Scheduler::set_paused(RequestId id, bool is_paused) {
  for (Queue* queue : {&running_, &waiting_}) {
    const auto place = find(*queue, id);
    if (place == queue->end() || place->second->is_paused() == is_paused) continue;
    place->second->set_paused(is_paused);
    is_paused ? place->second->clock.charge(trace::Stage::kOther, "batch")
              : place->second->clock.charge(trace::Stage::kQueue, "paused");
    is_paused ? ++num_paused_ : --num_paused_;
  }
}

std::size_t Scheduler::num_background() const {
  const auto count = [](const Queue& queue) {
    return std::ranges::count_if(queue, [](const auto& item) { return item.first.background; });
  };
  return static_cast<std::size_t>(count(running_) + count(waiting_));
}

std::optional<RequestId> Scheduler::oldest_background() const {
  const auto oldest = std::ranges::find_if(waiting_, [](const auto& item) { return item.first.background; });
  return oldest == waiting_.end() ? std::nullopt : std::optional(oldest->first.id);
}

void Scheduler::make_room_for_running() {
  for (auto place = running_.begin(); place != running_.end(); ++place) {
    if (place->second->is_paused()) continue;
    if (!make_room(*place->second)) return;  // it was the last one and is gone
  }
}

// False when the sequence itself had to go.
bool Scheduler::make_room(Sequence& sequence) {
  while (!blocks_.grow(sequence.table, sequence.num_tokens())) {
    const auto victim = next_victim();
    const bool is_itself = victim->second.get() == &sequence;
    suspend(victim);
    ++output_.num_preempted;
    if (is_itself) return false;
  }
  return true;
}

// A paused one, else the last.
Scheduler::Queue::iterator Scheduler::next_victim() {
  const auto paused = std::ranges::find_if(running_, [](const auto& item) { return item.second->is_paused(); });
  return paused != running_.end() ? paused : std::prev(running_.end());
}

void Scheduler::suspend(Queue::iterator place) {
  blocks_.release(place->second->table);
  place->second->restart();
  ++batch_left_;
  waiting_.insert(running_.extract(place));
}

// Returns how much of the chunk is left.
std::size_t Scheduler::schedule_running(std::size_t chunk_left) {
  for (const auto& [key, sequence] : running_) {
    if (sequence->is_paused()) continue;
    // One generated row each stands outside the chunk: a long prompt beside it must not stop an answer.
    const std::size_t own = sequence->next_is_generated() ? 1 : 0;
    const std::size_t num_rows = std::min(sequence->num_pending(), own + chunk_left);
    if (num_rows == 0) continue;
    chunk_left -= num_rows - own;
    output_.num_prompt_rows += num_rows - own;
    output_.rows.push_back({sequence.get(), num_rows, false});
  }
  return chunk_left;
}

bool Scheduler::may_admit() const {
  if (waiting_.empty() || running_.size() >= config_.max_sequences) return false;
  return !config_.static_batches || batch_left_ > 0;
}

void Scheduler::schedule_waiting(std::size_t chunk_left) {
  if (running_.empty()) batch_left_ = std::min(config_.max_sequences, waiting_.size());
  while (chunk_left > 0 && may_admit()) {
    const auto next = next_waiting();
    if (next == waiting_.end()) return;
    Sequence& sequence = *next->second;
    if (sequence.request().background && has_foreground()) return;
    if (!admit(sequence)) return;
    running_.insert(waiting_.extract(next));
    if (config_.static_batches) --batch_left_;
    const std::size_t num_rows = std::min(sequence.num_pending(), chunk_left);
    chunk_left -= num_rows;
    output_.num_prompt_rows += num_rows;
    output_.rows.push_back({&sequence, num_rows, true});
  }
}

Scheduler::Queue::iterator Scheduler::next_waiting() {
  const auto first = std::ranges::find_if(waiting_, [](const auto& item) { return !item.second->is_paused(); });
  auto next = first;
  if (first == waiting_.end() || shares_.num_active() < 2) return next;
  for (auto place = first; place != waiting_.end() && place->first.ranks_with(first->first); ++place) {
    const Sequence& sequence = *place->second;
    if (sequence.is_paused()) continue;
    if (sequence.has_started()) return place;
    if (shares_.served(sequence.request().tenant) < shares_.served(next->second->request().tenant)) next = place;
  }
  return next;
}

// Tokens from the first on whose keys and values others may take.
std::size_t Scheduler::num_shareable(const Sequence& sequence) const {
  return config_.publish_answers ? sequence.num_tokens() : sequence.prompt_tokens();
}

kvcache::BlockManager::Reservation Scheduler::reservation_of(const Sequence& sequence) const {
  if (config_.contiguous_kv)
    return {.prompt = sequence.prefix(), .num_tokens = sequence.most_tokens(), .contiguous = true};
  return {
      .prompt = sequence.prefix(),
      // The last row is computed even when all are cached: its logits are wanted.
      .max_cached_tokens = std::min(num_shareable(sequence), sequence.num_tokens() - 1),
      .num_tokens = sequence.num_tokens() + (sequence.wants_token() ? 1 : 0),
      // Each running sequence may need a block soon; without this the newcomer would be preempted at once.
      .headroom_blocks = running_.size(),
  };
}

bool Scheduler::admit(Sequence& sequence) {
  const auto began = std::chrono::steady_clock::now();
  const auto num_cached = blocks_.reserve(sequence.table, reservation_of(sequence));
  if (!num_cached) return false;
  const bool is_new = !sequence.has_started() && !sequence.request().background;
  if (is_new) shares_.charge(sequence.request().tenant, sequence.prompt_tokens() - *num_cached);
  if (sequence.wants_explanation()) sequence.explain(blocks_.index().explain(sequence.prefix()));
  sequence.start(*num_cached);
  sequence.clock.charge_until(trace::Stage::kQueue, began);
  sequence.clock.charge(trace::Stage::kLookup);
  sequence.clock.annotate("cached_tokens", *num_cached);
  return true;
}

void Scheduler::update() {
  for (const ScheduledRows& scheduled : output_.rows) {
    const auto& [sequence, num_rows, starts] = scheduled;
    if (scheduled.samples()) shares_.charge(sequence->request().tenant, FairShare::kGeneratedTokenCost);
    num_positions_ += sequence->advance(num_rows);
    blocks_.publish(sequence->table, sequence->prefix(), std::min(sequence->num_computed(), num_shareable(*sequence)));
  }
}

std::unique_ptr<Sequence> Scheduler::take(Queue& queue, RequestId id) {
  const auto place = find(queue, id);
  if (place == queue.end()) return nullptr;
  return std::move(queue.extract(place).mapped());
}

std::unique_ptr<Sequence> Scheduler::remove(RequestId id) {
  auto sequence = take(running_, id);
  if (sequence) {
    blocks_.release(sequence->table);
  } else {
    sequence = take(waiting_, id);
  }
  if (!sequence) return nullptr;
  shares_.leave(sequence->request().tenant);
  if (sequence->is_paused()) --num_paused_;
  return sequence;
}

std::vector<const Sequence*> Scheduler::sequences() const {
  std::vector<const Sequence*> all;
  for (const Queue* queue : {&running_, &waiting_}) {
    for (const auto& [key, sequence] : *queue)
      all.push_back(sequence.get());
  }
  return all;
}

std::vector<Sequence*> Scheduler::waiting_order() const {
  std::vector<Sequence*> waiting;
  for (const auto& [key, sequence] : waiting_) {
    if (!key.background && !sequence->is_paused()) waiting.push_back(sequence.get());
  }
  return engine::waiting_order(waiting, shares_);
}

std::string Scheduler::check_run(const Sequence& sequence) const {
  if (!config_.contiguous_kv) return "";
  if (sequence.table.capacity_tokens() < sequence.most_tokens()) return "a sequence lacks room for its last tokens";
  const auto blocks = sequence.table.blocks();
  const auto is_gap = [](kvcache::BlockId a, kvcache::BlockId b) {
    return static_cast<std::size_t>(a) + 1 != static_cast<std::size_t>(b);
  };
  return std::ranges::adjacent_find(blocks, is_gap) == blocks.end() ? "" : "the blocks of a sequence are apart";
}

std::string Scheduler::check_integrity() const {
  std::vector<const kvcache::BlockTable*> tables;
  for (const auto& [key, sequence] : running_) {
    if (sequence->num_computed() > sequence->num_tokens()) return "a sequence has computed more than its tokens";
    if (sequence->num_computed() > sequence->table.capacity_tokens()) return "computed positions without a block";
    if (auto fault = check_run(*sequence); !fault.empty()) return fault;
    tables.push_back(&sequence->table);
  }
  for (const auto& [key, sequence] : waiting_) {
    if (!sequence->table.blocks().empty()) return "a waiting sequence holds blocks";
  }
  if (running_.size() > config_.max_sequences) return "more sequences run than are allowed";
  return blocks_.check_integrity(tables);
}

}  // namespace vitrine::engine
