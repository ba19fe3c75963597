#include "engine/engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include "base/checked.h"
#include "engine/validate.h"
#include "kvcache/block_map.h"

namespace vitrine::engine {
namespace {

base::Result<EngineConfig> complete(EngineConfig config, const models::ModelConfig& model) {
  if (config.context_length == 0) config.context_length = model.context_length;
  if (config.context_length > model.context_length) {
    return base::usage_error(fmt::format("--ctx {}: the model's context length is {}; use at most that",
                                         config.context_length, model.context_length));
  }
  if (config.max_sequences == 0) return base::usage_error("max_sequences 0: at least one sequence must run");
  if (config.max_chunk_tokens == 0) return base::usage_error("--chunk 0: a step needs at least one row; use 1 or more");
  if (config.contiguous_kv && config.publish_answers)
    return base::usage_error(
        "contiguous_kv: publish_answers shares blocks, and nothing is shared then; use one of them");
  if (config.contiguous_kv) config.prefix_cache = false;
  return config;
}

base::Result<std::size_t> count_blocks(const EngineConfig& config, std::size_t block_bytes) {
  if (!config.kv_memory_bytes) return base::ceil_div(config.context_length, kvcache::kBlockTokens);
  const std::size_t num_blocks = *config.kv_memory_bytes / block_bytes;
  if (num_blocks > 0) return num_blocks;
  return base::usage_error(fmt::format("--kv-memory {}: one block of {} tokens takes {} bytes; allow more",
                                       *config.kv_memory_bytes, kvcache::kBlockTokens, block_bytes));
}

// The last event of a request that ends without a token.
TokenEvent end_event(FinishReason reason) {
  TokenEvent event;
  event.finish_reason = reason;
  return event;
}

// The last event of a request whose prompt was all that it wanted computed.
TokenEvent computed_event(const Sequence& sequence) {
  TokenEvent event = end_event(FinishReason::kLength);
  event.embedding = sequence.embedding();
  if (std::ranges::all_of(event.embedding, [](float value) { return std::isfinite(value); })) return event;
  event.embedding.clear();
  event.finish_reason = FinishReason::kError;
  event.error = "the hidden states hold values that are not finite; the model file or its quantisation is at fault";
  return event;
}

}  // namespace

base::Result<std::unique_ptr<Engine>> Engine::create(const models::Model& model, EngineConfig config,
                                                     base::MemoryLedger& ledger) {
  auto completed = complete(std::move(config), model.config());
  if (!completed) return completed.error();
  const kvcache::KvCacheShape shape = model.kv_shape(completed->kv_type);
  const auto bytes = kvcache::block_bytes(shape);
  if (!bytes) return bytes.error();
  const auto num_blocks = count_blocks(*completed, *bytes);
  if (!num_blocks) return num_blocks.error();
  auto cache = kvcache::KvCache::create(shape, *num_blocks);
  if (!cache) return cache.error();
  return std::unique_ptr<Engine>(new Engine(model, *std::move(completed), *std::move(cache), ledger));
}

Engine::Engine(const models::Model& model, EngineConfig config, kvcache::KvCache cache, base::MemoryLedger& ledger)
    : model_(model),
      config_(std::move(config)),
      ledger_(ledger),
      cache_(std::move(cache)),
      scheduler_({.max_sequences = config_.max_sequences,
                  .max_chunk_tokens = config_.max_chunk_tokens,
                  .static_batches = config_.static_batches,
                  .contiguous_kv = config_.contiguous_kv,
                  .publish_answers = config_.publish_answers},
                 cache_.num_blocks()),
      chunk_budget_(config_.max_chunk_tokens, config_.target_gap_s),
      runner_(model, cache_, {config_.max_chunk_tokens + config_.max_sequences, config_.max_sequences}, heartbeat_) {
  using enum base::MemoryKind;
  ledger_.add(kKv, cache_.size_bytes());
  ledger_.add(kActivations, runner_.activation_bytes());
  ledger_.add(kScratch, runner_.scratch_bytes());
}

Engine::~Engine() {
  using enum base::MemoryKind;
  ledger_.remove(kKv, cache_.size_bytes() - noted_idle_bytes_);
  ledger_.remove(kPrefixCache, noted_idle_bytes_);
  ledger_.remove(kActivations, runner_.activation_bytes());
  ledger_.remove(kScratch, runner_.scratch_bytes());
}

std::size_t Engine::max_total_tokens() const {
  return std::min(config_.context_length, cache_.num_blocks() * kvcache::kBlockTokens);
}

std::optional<Refusal> Engine::validate(const Request& request) const {
  return engine::validate(request, {.vocab_size = model_.config().vocab_size,
                                    .context_length = config_.context_length,
                                    .kv_tokens = cache_.num_blocks() * kvcache::kBlockTokens});
}

std::vector<kvcache::PrefixDigest> Engine::prefix_digests(const Request& request) const {
  // A mean needs every position computed.
  if (!config_.prefix_cache || !config_.kv_cache || request.pooling == Pooling::kMean) return {};
  const std::string seed = fmt::format("{}\n{}", config_.prefix_seed, tensor::dtype_info(config_.kv_type).name);
  return kvcache::prefix_digests(kvcache::prefix_root(seed, request.cache_salt), request.prompt);
}

base::Result<RequestId> Engine::submit(Request request, EventCallback callback, trace::Timeline* timeline) {
  if (auto refusal = validate(request)) return base::usage_error(std::move(refusal->message));
  // All that costs time is done here, on the client's thread.
  Sequence::Setup setup{{}, std::move(request), std::move(callback), timeline, {}, max_total_tokens()};
  setup.prefix_digests = prefix_digests(setup.request);
  const std::scoped_lock lock(inbox_mutex_);
  const RequestId id = setup.id = static_cast<RequestId>(next_id_++);
  submitted_.push_back(std::make_unique<Sequence>(std::move(setup)));
  if (num_unfinished_ == num_paused_) {
    heartbeat_.beat();
    progress_at_ = std::chrono::steady_clock::now();
  }
  ++num_unfinished_;
  inbox_filled_.notify_one();
  return id;
}

void Engine::abort(RequestId id) {
  const std::scoped_lock lock(inbox_mutex_);
  aborted_.push_back(id);
  inbox_filled_.notify_one();
}

void Engine::note_pause(RequestId id, bool is_paused) {
  const std::scoped_lock lock(inbox_mutex_);
  pauses_.emplace_back(id, is_paused);
  inbox_filled_.notify_one();
}

bool Engine::has_work() const {
  const std::scoped_lock lock(inbox_mutex_);
  return num_unfinished_ > 0 || !errands_.empty();
}

bool Engine::wait_for_work(std::stop_token stop) {
  std::unique_lock lock(inbox_mutex_);
  return inbox_filled_.wait(lock, std::move(stop),
                            [this] { return num_unfinished_ > num_paused_ || has_news() || !errands_.empty(); });
}

bool Engine::has_news() const {
  return num_unfinished_ > 0 && (!aborted_.empty() || !pauses_.empty());
}

bool Engine::is_stalled() const {
  const std::scoped_lock lock(inbox_mutex_);
  if (num_unfinished_ <= num_paused_) return false;
  if (heartbeat_.since() >= config_.stall_limit) return true;
  // One step may take longer than the limit.
  constexpr std::size_t kFruitlessSteps = 2;
  return num_ready_ > 0 && num_fruitless_steps_ >= kFruitlessSteps &&
         std::chrono::steady_clock::now() - progress_at_ >= config_.stall_limit;
}

void Engine::run_between_steps(Errand errand) {
  const std::scoped_lock lock(inbox_mutex_);
  errands_.push_back(std::move(errand));
  inbox_filled_.notify_one();
}

void Engine::step() {
  heartbeat_.beat();
  drain();
  if (scheduler_.has_foreground()) foreground_at_ = std::chrono::steady_clock::now();
  if (is_resting()) {
    rest();
  } else if (scheduler_.num_running() + scheduler_.num_waiting() > 0) {
    compute();
  } else {
    note_progress();
  }
  run_errand();
}

bool Engine::is_resting() const {
  return !scheduler_.has_foreground() && scheduler_.num_background() > 0 &&
         std::chrono::steady_clock::now() - foreground_at_ < config_.settle_delay;
}

void Engine::rest() {
  note_progress();
  std::unique_lock lock(inbox_mutex_);
  inbox_filled_.wait_until(lock, foreground_at_ + config_.settle_delay,
                           [this] { return !submitted_.empty() || has_news() || !errands_.empty(); });
}

void Engine::run_errand() {
  Errand errand;
  {
    const std::scoped_lock lock(inbox_mutex_);
    if (errands_.empty()) return;
    errand = std::move(errands_.front());
    errands_.pop_front();
  }
  if (!errand()) return;
  const std::scoped_lock lock(inbox_mutex_);
  errands_.push_front(std::move(errand));
}

void Engine::compute() {
  const std::size_t num_answering = scheduler_.num_answering();
  const SchedulerOutput& work = num_answering > 0
                                    ? scheduler_.schedule(chunk_budget_.tokens(num_answering, scheduler_.num_prompts()))
                                    : scheduler_.schedule();
  note_progress();
  if (num_asking_ > 0) {
    tell_places();
    tell_prefill(work, true);
  }
  runner_.run(work, observer_);
  const auto results = runner_.sample(work);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - work.began;
  chunk_budget_.observe(work.num_answering, work.num_prompt_rows, took.count());
  scheduler_.update();
  if (num_asking_ > 0) tell_prefill(work, false);
  publish(work, results);
}

void Engine::drain() {
  std::vector<std::unique_ptr<Sequence>> submitted;
  std::vector<RequestId> aborted;
  std::vector<std::pair<RequestId, bool>> pauses;
  {
    const std::scoped_lock lock(inbox_mutex_);
    submitted.swap(submitted_);
    aborted.swap(aborted_);
    pauses.swap(pauses_);
  }
  for (auto& sequence : submitted) {
    if (sequence->request().progress) ++num_asking_;
    writers_.enter(*sequence);
    scheduler_.add(std::move(sequence));
  }
  for (const RequestId id : aborted) {
    finish(id, end_event(FinishReason::kAbort));
  }
  for (const auto& [id, is_paused] : pauses) {
    scheduler_.set_paused(id, is_paused);
  }
}

void Engine::tell_places() {
  const auto now = std::chrono::steady_clock::now();
  if (scheduler_.num_waiting() == 0 || now - places_told_ < config_.place_interval) return;
  places_told_ = now;
  const std::vector<Sequence*> order = scheduler_.waiting_order();
  for (std::size_t num_ahead = 0; num_ahead < order.size(); ++num_ahead) {
    if (order[num_ahead]->wants_progress()) order[num_ahead]->tell_progress(num_ahead);
  }
}

// `only_new`: of those that have just begun.
void Engine::tell_prefill(const SchedulerOutput& work, bool only_new) {
  for (const ScheduledRows& rows : work.rows) {
    if (rows.sequence->wants_progress() && (rows.starts || !only_new)) rows.sequence->tell_progress();
  }
}

// Of the steps before, and who waits now.
void Engine::note_progress() {
  const std::scoped_lock lock(inbox_mutex_);
  const bool was_at_rest = num_paused_ == num_unfinished_;
  num_paused_ = scheduler_.num_paused();
  num_ready_ = scheduler_.num_ready();
  const std::size_t before = std::exchange(num_positions_, scheduler_.num_positions());
  if (was_at_rest || num_positions_ != before) {
    progress_at_ = std::chrono::steady_clock::now();
    num_fruitless_steps_ = 0;
  } else {
    ++num_fruitless_steps_;
  }
}

void Engine::publish(const SchedulerOutput& work, std::span<const SampleResult> results) {
  ++num_steps_;
  num_preemptions_ += work.num_preempted;
  // Ids first: an event may end its sequence.
  std::vector<std::pair<RequestId, TokenEvent>> without_answer;
  for (const ScheduledRows& rows : work.rows) {
    if (!rows.sequence->wants_token() && rows.sequence->num_pending() == 0)
      without_answer.emplace_back(rows.sequence->id(), computed_event(*rows.sequence));
  }
  for (const SampleResult& result : results) {
    publish_token(result);
  }
  for (auto& [id, event] : without_answer) {
    finish(id, std::move(event));
  }
  note_memory();
}

void Engine::publish_token(const SampleResult& result) {
  Sequence& sequence = *result.sequence;
  TokenEvent event;
  if (!result.sampled) {
    event.error = result.sampled.error().message;
    event.finish_reason = FinishReason::kError;
    return finish(sequence.id(), std::move(event));
  }
  event.token = result.sampled->id;
  event.logprob = result.sampled->logprob;
  event.top_logprobs = result.sampled->top_logprobs;
  event.finish_reason = sequence.append(result.sampled->id);
  if (config_.publish_answers) sequence.extend_prefix();
  if (!config_.kv_cache) sequence.restart();
  sequence.clock.charge(trace::Stage::kOther, "batch");
  sequence.clock.mark_first_token();
  if (event.finish_reason) return finish(sequence.id(), std::move(event));
  sequence.send(std::move(event));
}

void Engine::finish(RequestId id, TokenEvent event) {
  const auto sequence = scheduler_.remove(id);
  if (!sequence) return;  // aborted after its end
  sequence->has_started() ? sequence->clock.charge(trace::Stage::kOther, "batch")
                          : sequence->clock.charge(trace::Stage::kQueue);
  writers_.leave(*sequence);
  if (sequence->request().progress) --num_asking_;
  {
    const std::scoped_lock lock(inbox_mutex_);
    --num_unfinished_;
  }
  const bool is_whole = event.finish_reason == FinishReason::kStop || event.finish_reason == FinishReason::kLength;
  sequence->send(std::move(event));
  if (is_whole && config_.settle_answers) settle(*sequence);
}

void Engine::settle(const Sequence& sequence) {
  const bool has_answer = sequence.completion_tokens() > 0;
  if (!config_.prefix_cache || !has_answer || sequence.num_tokens() >= max_total_tokens()) return;
  // Under load they never come to run: the newest are the ones whose next turn is near.
  if (scheduler_.num_background() >= config_.max_sequences) {
    if (const auto oldest = scheduler_.oldest_background()) finish(*oldest, end_event(FinishReason::kAbort));
  }
  Sequence::Setup setup;
  setup.request.prompt.assign(sequence.tokens().begin(), sequence.tokens().end());
  setup.request.cache_salt = sequence.request().cache_salt;
  setup.request.max_tokens = 0;
  setup.request.background = true;
  setup.prefix_digests = prefix_digests(setup.request);
  setup.max_total_tokens = max_total_tokens();
  const std::scoped_lock lock(inbox_mutex_);
  setup.id = static_cast<RequestId>(next_id_++);
  ++num_unfinished_;
  scheduler_.add(std::make_unique<Sequence>(std::move(setup)));
}

void Engine::note_memory() {
  const std::size_t idle_bytes = scheduler_.blocks().pool().num_idle() * cache_.size_bytes() / cache_.num_blocks();
  ledger_.add(base::MemoryKind::kPrefixCache, idle_bytes);
  ledger_.remove(base::MemoryKind::kPrefixCache, noted_idle_bytes_);
  ledger_.add(base::MemoryKind::kKv, noted_idle_bytes_);
  ledger_.remove(base::MemoryKind::kKv, idle_bytes);
  noted_idle_bytes_ = idle_bytes;
}

EngineStats Engine::stats() const {
  const kvcache::BlockPool& pool = scheduler_.blocks().pool();
  return {
      .num_waiting = scheduler_.num_waiting(),
      .num_running = scheduler_.num_running(),
      .num_blocks = pool.num_blocks(),
      .num_blocks_in_use = pool.num_in_use(),
      .num_blocks_cached = pool.num_idle(),
      .num_blocks_touched = pool.num_touched(),
      .block_bytes = cache_.size_bytes() / cache_.num_blocks(),
      .num_steps = num_steps_,
      .num_preemptions = num_preemptions_,
  };
}

EngineSnapshot Engine::snapshot() const {
  EngineSnapshot snapshot{.stats = stats(), .sequences = {}, .blocks = kvcache::block_map(scheduler_.blocks().pool())};
  std::map<const Sequence*, std::size_t> num_ahead;
  for (const Sequence* sequence : scheduler_.waiting_order())
    num_ahead.emplace(sequence, num_ahead.size());
  const std::vector<const Sequence*> sequences = scheduler_.sequences();
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const Sequence& sequence = *sequences[i];
    if (sequence.request().background) continue;
    const auto place = num_ahead.find(&sequence);
    snapshot.sequences.push_back({
        .id = sequence.id(),
        .is_running = i < scheduler_.num_running(),
        .has_started = sequence.has_started(),
        .prompt_tokens = sequence.prompt_tokens(),
        .computed_tokens = sequence.num_computed(),
        .completion_tokens = sequence.completion_tokens(),
        .num_blocks = sequence.table.blocks().size(),
        .num_ahead = place != num_ahead.end() ? std::optional(place->second) : std::nullopt,
    });
  }
  return snapshot;
}

}  // namespace vitrine::engine
