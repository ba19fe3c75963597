#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/hub/http.h"
#include "tools/otlp/otlp_settings.h"
#include "trace/otlp.h"

namespace vitrine::otlp {

// Posts the spans of finished requests to an OTLP receiver over HTTP, as JSON. A thread of its own collects them for a
// moment, sends up to a batch at once, and tries again, later each time, where the receiver is away or asks for
// patience (429, 502, 503, 504, Retry-After). Its queue is bounded: when it is full, the newest spans are dropped and
// counted. Whoever offers spans waits for nothing.
class OtlpExporter final : public trace::SpanExporter {
 public:
  struct Limits {
    std::size_t max_queued = 8192;  // spans
    std::size_t max_batch = 512;
    std::chrono::milliseconds collect_time{1000};  // from the first span of a batch until it is sent
    std::chrono::milliseconds first_pause{1000};   // after a first failure; then twice as long each time
    std::chrono::milliseconds max_pause{30'000};   // also of what Retry-After asks for
    std::size_t max_attempts = 8;                  // then a batch is dropped
    std::chrono::milliseconds stop_time{2000};     // what the end may take to send the rest
  };
  // `on_trouble` is told, in one line, when spans are lost for the first time, and again after some were taken; it runs
  // on the thread of the exporter, or on that of whoever offers.
  OtlpExporter(OtlpSettings settings, std::function<void(const std::string& line)> on_trouble)
      : OtlpExporter(std::move(settings), std::move(on_trouble), Limits{}) {}
  OtlpExporter(OtlpSettings settings, std::function<void(const std::string& line)> on_trouble, const Limits& limits);
  // Sends what is left, for as long as the limits allow.
  ~OtlpExporter() override;
  OtlpExporter(const OtlpExporter&) = delete;
  OtlpExporter& operator=(const OtlpExporter&) = delete;

  void offer(std::vector<trace::ExportSpan> spans) override;
  Counts counts() const override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Attempt {
    std::size_t num_rejected = 0;  // of a batch that was taken
    std::string trouble;           // empty: it was taken
    bool may_retry = false;
    std::chrono::milliseconds retry_after{0};  // as the receiver asks for
  };

  void run();
  std::vector<trace::ExportSpan> next_batch();
  void send(const std::vector<trace::ExportSpan>& batch);
  Attempt post(const std::string& body);
  bool pause(std::chrono::milliseconds time);
  void lose(std::size_t num_spans, const std::string& why);
  bool is_over() const;

  const OtlpSettings settings_;
  const std::function<void(const std::string& line)> on_trouble_;
  const Limits limits_;
  hub::HttpClient client_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<trace::ExportSpan> queue_;
  Counts counts_;
  bool is_stopping_ = false;
  bool has_told_ = false;  // of the trouble that goes on
  Clock::time_point deadline_ = Clock::time_point::max();
  std::thread thread_;  // last: it uses the rest
};

}  // namespace vitrine::otlp
