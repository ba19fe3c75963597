#include "server/generation.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "server/api_error.h"
#include "server/signal.h"

namespace vitrine::server {

using engine::FinishReason;
using engine::TokenEvent;
using Clock = std::chrono::steady_clock;

namespace {

// About what a token takes as an event on the wire, and each of the others that are listed beside it.
constexpr std::size_t kEventBytes = 256;
constexpr std::size_t kTopLogprobBytes = 128;

constexpr std::chrono::seconds kSettlePatience{10};

std::size_t bytes_of(const TokenEvent& event) {
  return kEventBytes + event.top_logprobs.size() * kTopLogprobBytes + event.embedding.size() * sizeof(float);
}

}  // namespace

// Events between two threads: the engine's puts them in, the sockets' takes them out. Where the reader is far behind,
// because its client reads slowly, the request pauses until it has caught up.
class Generation::Inbox {
 public:
  struct Item {
    std::size_t choice;
    TokenEvent event;
    Clock::time_point came;
  };

  Inbox(asio::any_io_executor executor, engine::Engine& engine)
      : filled_(std::make_shared<Signal>(std::move(executor))), engine_(engine) {}

  // Engine thread.
  void put(std::size_t choice, const TokenEvent& event) {
    const std::scoped_lock lock(mutex_);
    if (is_closed_) return;
    const bool was_empty = items_.empty();
    if (event.progress && !was_empty && items_.back().choice == choice && items_.back().event.progress)
      return void(items_.back().event = event);  // what was told last is out of date
    items_.push_back({choice, event, Clock::now()});
    if (was_empty) filled_->raise();
    num_bytes_ += bytes_of(event);
    if (num_bytes_ <= kMaxBytes || event.finish_reason) return;
    paused_.push_back(event.request);
    engine_.pause(event.request);
  }

  // The other functions belong to the reader.
  std::vector<Item> take() {
    const std::scoped_lock lock(mutex_);
    num_bytes_ = 0;
    for (const engine::RequestId id : std::exchange(paused_, {}))
      engine_.resume(id);
    return std::exchange(items_, {});
  }
  Awaitable<void> wait(std::chrono::milliseconds patience) { return filled_->wait(patience); }
  // Nobody reads any more. The executor may die after this and before the engine's last callback does.
  void close() {
    const std::scoped_lock lock(mutex_);
    is_closed_ = true;
    items_.clear();
    filled_->close();
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 10U;

  std::shared_ptr<Signal> filled_;
  engine::Engine& engine_;
  std::mutex mutex_;
  std::vector<Item> items_;
  std::size_t num_bytes_ = 0;
  std::vector<engine::RequestId> paused_;
  bool is_closed_ = false;
};

Generation::Generation(asio::any_io_executor executor, const ServedModel& model, const std::vector<std::string>& stops,
                       RequestTrace& trace)
    : model_(model),
      stops_(stops),
      trace_(trace),
      inbox_(std::make_shared<Inbox>(std::move(executor), model.engine->engine())) {}

Generation::~Generation() {
  inbox_->close();
  abort();
}

void Generation::add(engine::Request request, bool is_same_prompt) {
  auto stops = chat::StopMatcher::create(stops_);
  if (!stops) throw bad_field("stop", stops.error().message);
  const std::size_t index = choices_.size();
  if (!is_same_prompt) report_.usage.prompt_tokens += request.prompt.size();
  choices_.push_back({.text = chat::AnswerText(model_.tokenizer, *std::move(stops)), .counts_prompt = !is_same_prompt});
  const auto id = submit(std::move(request), index);
  if (!id) throw ApiException({.message = id.error().message});
  choices_.back().id = *id;
  ++num_running_;
  ++num_in_engine_;
}

base::Result<engine::RequestId> Generation::submit(engine::Request request, std::size_t index) {
  if (index == 0) record(request);
  const auto& timeline = trace_.engine_timeline();
  const auto put = [inbox = inbox_, timeline, index](const TokenEvent& event) { inbox->put(index, event); };
  return model_.engine->engine().submit(std::move(request), put, timeline.get());
}

void Generation::abort() {
  for (const Choice& choice : choices_) {
    if (choice.id && !choice.has_ended) model_.engine->engine().abort(*choice.id);
  }
}

Awaitable<std::vector<ChoiceDelta>> Generation::wait(std::chrono::milliseconds patience) {
  std::vector<ChoiceDelta> news = take();
  if (!news.empty() || has_ended()) co_return news;
  co_await inbox_->wait(patience);
  co_return take();
}

// A seed that nobody gave is drawn here, so that the answer can be told how it came about.
void Generation::record(engine::Request& request) {
  if (!request.sampling.seed) request.sampling.seed = sampling::random_seed();
  if (request.pooling == engine::Pooling::kNone)
    trace_.recording() = {.prompt = request.prompt, .answer = {}, .sampling = request.sampling};
}

Awaitable<void> Generation::settle() {
  take();
  while (num_in_engine_ > 0) {
    co_await inbox_->wait(kSettlePatience);
    take();
  }
}

trace::Parts Generation::parts() const {
  const trace::Timeline& timeline = trace_.timeline();
  const engine::RequestTimings& engine = report_.last_timings;
  const auto nanoseconds = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e9); };
  const std::int64_t end_ns = timeline.ns_at(answered_);
  trace::Parts parts = trace::parts_outside(timeline, {end_ns - nanoseconds(engine.total_s()), end_ns});
  using enum trace::Stage;
  parts.add(kQueue, nanoseconds(engine.queue_s));
  parts.add(kLookup, nanoseconds(engine.lookup_s));
  parts.add(kSchedule, nanoseconds(engine.schedule_s));
  parts.add(kPrefill, nanoseconds(engine.prefill_s));
  parts.add(kDecode, nanoseconds(engine.decode_s));
  parts.add(kSample, nanoseconds(engine.sample_s));
  parts.add(kOther, nanoseconds(engine.other_s));
  return parts;
}

std::vector<ChoiceDelta> Generation::take() {
  std::vector<ChoiceDelta> news;
  const std::vector<Inbox::Item> items = inbox_->take();
  num_in_engine_ -= static_cast<std::size_t>(
      std::ranges::count_if(items, [](const Inbox::Item& item) { return item.event.finish_reason.has_value(); }));
  if (items.empty() || has_ended()) return news;
  note_delivery(items.front().came);
  const trace::ScopedSpan span(trace_.timeline(), trace::Stage::kDetokenize);
  for (const Inbox::Item& item : items) {
    if (choices_[item.choice].has_ended) continue;  // by a stop string; what the engine still made is not asked for
    if (item.event.progress) {
      news.push_back({.choice = item.choice, .progress = item.event.progress});
      continue;
    }
    answered_ = item.came;
    report_.last_timings = item.event.timings;
    report_.total_s = std::chrono::duration<double>(item.came - began_).count();
    if (item.choice == 0 && item.event.token) {
      report_.token_times_s.push_back(report_.total_s);
      trace_.recording().answer.push_back(*item.event.token);
    }
    take_event(item.choice, item.event, news);
  }
  return news;
}

// The way from the engine's thread to this one; what this one did meanwhile has its own spans.
void Generation::note_delivery(Clock::time_point came) {
  trace::Timeline& timeline = trace_.timeline();
  const std::int64_t since_ns = std::max(timeline.ns_at(came), timeline.last_end_ns());
  timeline.record(trace::Stage::kOther, {since_ns, timeline.now_ns()}, {}, "delivery");
}

void Generation::take_event(std::size_t index, const TokenEvent& event, std::vector<ChoiceDelta>& news) {
  Choice& choice = choices_[index];
  count(choice, event);
  if (index == 0) {
    report_.timings = event.timings;
    report_.prefix = event.prefix;
  }
  ChoiceDelta delta{.choice = index, .embedding = event.embedding, .error = event.error};
  const bool is_end_token = event.finish_reason == FinishReason::kStop;
  if (event.token && !is_end_token) {
    if (!std::isnan(event.logprob)) choice.held_scores.push_back({*event.token, event.logprob, event.top_logprobs});
    delta.text = choice.text.push(*event.token);
  }
  if (event.finish_reason) delta.text += choice.text.finish();
  delta.finish_reason = choice.text.stopped() ? FinishReason::kStop : event.finish_reason;
  if (delta.finish_reason) {
    choice.has_ended = true;
    --num_running_;
    report_.finish_reasons.push_back(*delta.finish_reason);
    if (!event.finish_reason) model_.engine->engine().abort(*choice.id);
  }
  if (delta.text.empty() && !delta.finish_reason) return;
  delta.scores = std::exchange(choice.held_scores, {});
  news.push_back(std::move(delta));
}

void Generation::count(Choice& choice, const TokenEvent& event) {
  report_.usage.completion_tokens += event.completion_tokens - choice.completion_tokens;
  choice.completion_tokens = event.completion_tokens;
  if (!std::exchange(choice.counts_prompt, false)) return;
  report_.usage.cached_tokens += event.cached_tokens;
}

}  // namespace vitrine::server
