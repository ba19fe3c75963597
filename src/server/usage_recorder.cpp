#include "server/usage_recorder.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "base/unix_time.h"
#include "server/signal.h"

namespace vitrine::server {
namespace {

using engine::FinishReason;

constexpr std::chrono::milliseconds kLookInterval{10'000};

// The word of the ledger's thread, on its way to the coroutine.
class Outcome {
 public:
  void set(bool is_kept) {
    const std::scoped_lock lock(mutex_);
    is_kept_ = is_kept;
  }
  std::optional<bool> get() {
    const std::scoped_lock lock(mutex_);
    return is_kept_;
  }

 private:
  std::mutex mutex_;
  std::optional<bool> is_kept_;
};

// Closes the signal, whichever way the coroutine ends.
class Waiter {
 public:
  explicit Waiter(asio::any_io_executor executor) : signal_(std::make_shared<Signal>(std::move(executor))) {}
  ~Waiter() { signal_->close(); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  const std::shared_ptr<Signal>& signal() const { return signal_; }

 private:
  std::shared_ptr<Signal> signal_;
};

// Of all choices the one that went worst.
FinishReason worst(const std::vector<FinishReason>& reasons) {
  for (const FinishReason reason : {FinishReason::kError, FinishReason::kAbort, FinishReason::kLength}) {
    if (std::ranges::find(reasons, reason) != reasons.end()) return reason;
  }
  return reasons.empty() ? FinishReason::kAbort : FinishReason::kStop;
}

std::int64_t count_of(std::size_t value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace

UsageRecorder::UsageRecorder(asio::any_io_executor executor, Exchange& exchange, Accounting* accounting,
                             const Generation& generation)
    : executor_(std::move(executor)), exchange_(exchange), accounting_(accounting), generation_(generation) {}

UsageRecorder::~UsageRecorder() {
  const bool was_submitted = generation_.report().usage.prompt_tokens > 0;
  if (accounting_ != nullptr && !is_recorded_ && was_submitted) accounting_->note(make_row(), [](bool) {});
  exchange_.set_note(make_note());
}

Awaitable<void> UsageRecorder::record() {
  if (accounting_ == nullptr || std::exchange(is_recorded_, true)) co_return;
  store::UsageRow row = make_row();
  const std::int64_t num_tokens = row.tokens();
  const auto outcome = std::make_shared<Outcome>();
  const Waiter waiter(executor_);
  accounting_->note(std::move(row), [outcome, signal = waiter.signal()](bool is_kept) {
    outcome->set(is_kept);
    signal->raise();
  });
  while (!outcome->get())
    co_await waiter.signal()->wait(kLookInterval);
  if (auto* ticket = exchange_.ticket(); ticket != nullptr) {
    ticket->settle(num_tokens);
    exchange_.set_headers(ticket->headers());
  }
  if (!*outcome->get()) {
    throw storage_unavailable("the use of this answer can't be noted; the server's log says why");
  }
}

store::UsageRow UsageRecorder::make_row() const {
  const GenerationReport& report = generation_.report();
  // Where nothing was computed, nothing was used: the request ended while it waited.
  const bool is_begun = report.timings.prefill_s > 0.0 || report.usage.completion_tokens > 0;
  return {.time_s = base::unix_time_s(),
          .key_id = exchange_.tenant(),
          .request_id = exchange_.id(),
          .model = generation_.model().name,
          .endpoint = std::string(exchange_.route()),
          .prompt_tokens = is_begun ? count_of(report.usage.prompt_tokens) : 0,
          .cached_tokens = is_begun ? count_of(report.usage.cached_tokens) : 0,
          .completion_tokens = count_of(report.usage.completion_tokens),
          .outcome = std::string(engine::finish_reason_name(worst(report.finish_reasons))),
          .queue_s = report.timings.queue_s,
          .prefill_s = report.timings.prefill_s,
          .decode_s = report.timings.decode_s,
          .total_s = report.total_s,
          .cost_nano = 0,
          .currency = {}};
}

AnswerNote UsageRecorder::make_note() const {
  const GenerationReport& report = generation_.report();
  const std::vector<double>& times_s = report.token_times_s;
  return {.model = generation_.model().name,
          .usage = report.usage,
          .finish_reason = std::string(engine::finish_reason_name(worst(report.finish_reasons))),
          .queue_s = report.timings.queue_s,
          .ttft_s = times_s.empty() ? std::nullopt : std::optional(times_s.front())};
}

}  // namespace vitrine::server
