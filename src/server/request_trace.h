#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/request.h"
#include "explain/replay.h"
#include "server/usage.h"
#include "trace/timeline.h"

namespace vitrine::server {

// Where the time of a request goes, from when its body was read to its last byte: spans of the server, and those of the
// engine for its first choice.
class RequestTrace {
 public:
  static constexpr std::size_t kMaxSpans = 1024;  // on either side; later ones count in the totals alone

  // The engine's part. Lives as long as the engine may write to it.
  struct EngineSide {
    trace::Timeline timeline{kMaxSpans};
    std::atomic<bool> has_ended = false;  // the engine writes no more
  };

  // Belongs to whoever works on the request: the thread of the sockets, or a worker for which that waits.
  trace::Timeline& timeline() { return timeline_; }
  const std::shared_ptr<EngineSide>& engine_side() { return engine_side_; }

  // The first choice, as far as it has come; from this it can be computed again.
  explain::Recording& recording() { return recording_; }
  const explain::Recording& recording() const { return recording_; }

  // Both parts on one clock; that of the engine once it has ended.
  trace::Timeline whole() const;

 private:
  trace::Timeline timeline_{kMaxSpans};
  std::shared_ptr<EngineSide> engine_side_ = std::make_shared<EngineSide>();
  explain::Recording recording_;
};

// The traces of the last requests, for whoever asks for them afterwards. Used on the thread of the sockets.
class TraceStore {
 public:
  static constexpr std::size_t kMaxTraces = 256;

  struct Entry {
    std::string id;      // x-request-id
    std::string tenant;  // only who asked may see it
    std::string model;
    Usage usage = {};
    std::vector<engine::FinishReason> finish_reasons = {};
    std::vector<double> token_times_s = {};  // of the first choice, from the moment at which it was submitted
    std::optional<kvcache::PrefixExplanation> prefix = {};
    std::unique_ptr<RequestTrace> trace;
  };

  void add(Entry entry);
  // null: it has not ended, or that was too long ago.
  const Entry* find(const std::string& id) const;

 private:
  std::deque<Entry> entries_;
};

}  // namespace vitrine::server
