#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include "explain/replay.h"
#include "trace/parts.h"
#include "trace/timeline.h"

namespace vitrine::server {

// Where the time of a request goes, from when its head was read to its last byte: spans of the server, one after the
// other, and those of the engine, for one choice at a time.
class RequestTrace {
 public:
  using TimePoint = trace::Timeline::TimePoint;
  static constexpr std::size_t kMaxSpans = 1024;  // on either side; of long requests those between are dropped

  explicit RequestTrace(TimePoint began = std::chrono::steady_clock::now()) : timeline_(kMaxSpans, began) {}

  // Belongs to whoever works on the request: the thread of the sockets, or a worker for which that waits.
  trace::Timeline& timeline() { return timeline_; }
  // The engine's part. Lives as long as the engine may write to it.
  const std::shared_ptr<trace::Timeline>& engine_timeline() { return engine_timeline_; }

  // The first choice, as far as it has come; from this it can be computed again.
  explain::Recording& recording() { return recording_; }
  const explain::Recording& recording() const { return recording_; }

  // What a stream has sent so far.
  struct Streamed {
    std::size_t num_writes = 0;
    std::size_t num_events = 0;
    std::size_t num_bytes = 0;  // of the events, without what HTTP puts round them
  };
  const Streamed& streamed() const { return streamed_; }
  // `events`: whole ones.
  void count_write(std::string_view events);

  // The last byte is out, or the client gone.
  void finish() { timeline_.finish(); }
  // The engine writes no more; `answered` is when its last token came, what it did after that was for nobody.
  void finish_engine(TimePoint answered);

  // The others need both.
  const trace::Timeline& server_part() const { return timeline_; }
  const trace::Timeline& engine_part() const { return *engine_timeline_; }
  // Both parts on one clock.
  trace::Timeline whole() const;
  // The wall time divided: while the engine worked it is the engine's.
  trace::Parts parts() const;
  double wall_s() const { return static_cast<double>(timeline_.wall_ns()) * 1e-9; }
  std::size_t size_bytes() const;

 private:
  trace::Timeline timeline_;
  std::shared_ptr<trace::Timeline> engine_timeline_ = std::make_shared<trace::Timeline>(kMaxSpans);
  explain::Recording recording_;
  Streamed streamed_;
};

}  // namespace vitrine::server
