#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/request.h"
#include "server/request_trace.h"
#include "server/usage.h"

namespace vitrine::server {

// The traces of the last requests, for whoever asks for them afterwards, and longer those of the slowest. Its memory is
// bounded. Used on the thread of the sockets.
class TraceStore {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kMaxTraces = 256;
  static constexpr std::size_t kMaxBytes = std::size_t{24} << 20U;  // of those
  static constexpr std::size_t kMaxSlow = 64;                       // besides, by their wall time
  static constexpr std::size_t kMaxSlowBytes = std::size_t{8} << 20U;
  static constexpr std::chrono::hours kSlowAge{1};

  struct Entry {
    std::string id;      // x-request-id
    std::string tenant;  // only who asked may see it
    std::string model;
    std::string route = {};
    Usage usage = {};
    std::vector<engine::FinishReason> finish_reasons = {};
    std::vector<double> token_times_s = {};  // of the first choice, from the moment at which it was submitted
    std::optional<kvcache::PrefixExplanation> prefix = {};
    std::int64_t ended_s = 0;  // Unix time
    std::unique_ptr<RequestTrace> trace;

    std::optional<double> ttft_s() const {
      return token_times_s.empty() ? std::nullopt : std::optional(token_times_s.front());
    }
    std::size_t size_bytes() const;
  };

  void add(Entry entry, TimePoint now = std::chrono::steady_clock::now());
  // null: it has not ended, or that was too long ago.
  const Entry* find(const std::string& id) const;
  // The last ones, the newest first.
  std::vector<const Entry*> newest() const;
  // All that are kept, the slowest first.
  std::vector<const Entry*> slowest() const;

 private:
  struct Kept {
    Entry entry;
    TimePoint when;
  };
  using Ring = std::deque<Kept>;

  void keep_slow(Kept kept, TimePoint now);

  Ring recent_;  // the oldest first
  Ring slow_;    // the slowest first
  std::size_t recent_bytes_ = 0;
  std::size_t slow_bytes_ = 0;
};

}  // namespace vitrine::server
