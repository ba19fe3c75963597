#include "tools/otlp/otlp_exporter.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/random.h"

namespace vitrine::otlp {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 10U;
constexpr hub::HttpTimeouts kTimeouts{.connect_s = 10, .stall_s = 10};

bool may_be_asked_again(long status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

// Spans that a receiver did not take of a batch that it took: {"partialSuccess": {"rejectedSpans": "3"}}.
std::size_t num_rejected(const std::string& answer) {
  const auto json = nlohmann::json::parse(answer, nullptr, false);
  if (!json.is_object() || !json.contains("partialSuccess") || !json["partialSuccess"].is_object()) return 0;
  const auto& partial = json["partialSuccess"];
  const auto found = partial.find("rejectedSpans");
  if (found == partial.end()) return 0;
  if (found->is_number_unsigned()) return found->get<std::size_t>();
  if (!found->is_string()) return 0;
  const auto& text = found->get_ref<const std::string&>();
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string advice_for(long status) {
  if (status == 401 || status == 403) return "give the receiver's key with --otlp-header 'Authorization: ...'";
  if (status == 404 || status == 405) return "check the path of --otlp-endpoint";
  if (status == 415) return "the receiver must take OTLP as JSON over HTTP; put a collector between";
  return "look at the receiver";
}

// Between half and the whole of it, so that many servers do not come back at once.
milliseconds jittered(milliseconds pause) {
  std::uint8_t byte = 0;
  base::fill_random({&byte, 1});
  return pause / 2 + pause * byte / 510;
}

}  // namespace

OtlpExporter::OtlpExporter(OtlpSettings settings, std::function<void(const std::string& line)> on_trouble,
                           const Limits& limits)
    : settings_(std::move(settings)),
      on_trouble_(std::move(on_trouble)),
      limits_(limits),
      client_(kTimeouts, [this] { return is_over(); }),
      thread_([this] { run(); }) {}

OtlpExporter::~OtlpExporter() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
    deadline_ = Clock::now() + limits_.stop_time;
  }
  changed_.notify_all();
  thread_.join();
}

void OtlpExporter::offer(std::vector<trace::ExportSpan> spans) {
  if (spans.empty()) return;
  std::unique_lock lock(mutex_);
  if (queue_.size() + spans.size() > limits_.max_queued) {
    lock.unlock();
    return lose(spans.size(), fmt::format("{} spans wait already", limits_.max_queued));
  }
  const bool was_empty = queue_.empty();
  std::ranges::move(spans, std::back_inserter(queue_));
  if (was_empty || queue_.size() >= limits_.max_batch) changed_.notify_all();
}

trace::SpanExporter::Counts OtlpExporter::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

bool OtlpExporter::is_over() const {
  const std::scoped_lock lock(mutex_);
  return Clock::now() >= deadline_;
}

void OtlpExporter::run() {
  for (auto batch = next_batch(); !batch.empty(); batch = next_batch())
    send(batch);
}

// Empty at the end.
std::vector<trace::ExportSpan> OtlpExporter::next_batch() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
  changed_.wait_for(lock, limits_.collect_time, [this] { return is_stopping_ || queue_.size() >= limits_.max_batch; });
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), limits_.max_batch));
  std::vector<trace::ExportSpan> batch(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return batch;
}

void OtlpExporter::send(const std::vector<trace::ExportSpan>& batch) {
  const std::string body = trace::otlp_json(settings_.resource, batch);
  milliseconds next_pause = limits_.first_pause;
  for (std::size_t attempt = 1;; ++attempt) {
    const Attempt outcome = is_over() ? Attempt{.trouble = "no time is left at the end"} : post(body);
    if (outcome.trouble.empty()) {
      const std::size_t num_lost = std::min(outcome.num_rejected, batch.size());
      if (num_lost > 0) lose(num_lost, "the receiver rejected them");
      const std::scoped_lock lock(mutex_);
      counts_.sent += batch.size() - num_lost;
      has_told_ = has_told_ && num_lost > 0;
      return;
    }
    const milliseconds pause_time = std::min(limits_.max_pause, std::max(outcome.retry_after, jittered(next_pause)));
    next_pause = std::min(limits_.max_pause, next_pause * 2);
    if (!outcome.may_retry || attempt >= limits_.max_attempts || !pause(pause_time))
      return lose(batch.size(), outcome.trouble);
  }
}

OtlpExporter::Attempt OtlpExporter::post(const std::string& body) {
  hub::HttpRequest request{.url = settings_.url, .headers = settings_.headers, .bearer_token = {}, .body = body};
  request.headers.emplace_back("Content-Type: application/json");
  request.headers.emplace_back("Expect:");  // no question before the body: receivers need not know the answer
  std::string answer;
  const auto response = client_.post(request, kMaxAnswerBytes, answer);
  if (!response) return {.trouble = response.error().message, .may_retry = true};
  if (response->ok()) return {.num_rejected = num_rejected(answer), .trouble = {}};
  return {.trouble = fmt::format("{}: status {}; {}", hub::url_origin(settings_.url), response->status,
                                 advice_for(response->status)),
          .may_retry = may_be_asked_again(response->status),
          .retry_after = hub::retry_after(*response)};
}

// False when the end does not leave the time.
bool OtlpExporter::pause(milliseconds time) {
  const auto until = Clock::now() + time;
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [this] { return is_stopping_; });
  if (!is_stopping_) return true;
  if (until >= deadline_) return false;
  lock.unlock();
  std::this_thread::sleep_until(until);
  return true;
}

void OtlpExporter::lose(std::size_t num_spans, const std::string& why) {
  {
    const std::scoped_lock lock(mutex_);
    counts_.dropped += num_spans;
    if (std::exchange(has_told_, true)) return;
  }
  on_trouble_(fmt::format("spans are lost ({} of them now; /metrics counts them): {}", num_spans, why));
}

}  // namespace vitrine::otlp
