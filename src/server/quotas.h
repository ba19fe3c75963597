#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "server/api_error.h"
#include "server/minute_window.h"
#include "store/key_ring.h"

namespace vitrine::server {

// What a key uses now.
struct KeyUse {
  std::int64_t running = 0;  // requests under way, those that wait among them
  std::int64_t requests_last_minute = 0;
  std::int64_t tokens_last_minute = 0;  // of those that have ended
  std::int64_t tokens_today = 0;
  std::int64_t tokens_this_month = 0;
};

// Keeps every key to its limits. Minutes and what is under way are counted in memory, for this process; days and months
// are read from the usage ledger, so that neither a restart nor another process is forgotten. One thread, that of the
// sockets.
class Quotas {
 public:
  // Both clocks, so that one moment is one for all.
  struct Moment {
    MinuteWindow::Clock::time_point steady;
    std::int64_t unix_s;
  };
  struct Sources {
    std::function<Moment()> now;
    // Tokens in the ledger of a key from one day to another, that one included. May throw base::Exception.
    std::function<std::int64_t(const std::string& key_id, std::int64_t first_day, std::int64_t last_day)> ledger_tokens;
  };
  class Ticket;

  explicit Quotas(Sources sources) : sources_(std::move(sources)) {}

  // Lets one request in, which counts from now on. Throws ApiException (429).
  std::unique_ptr<Ticket> admit(const store::KeyGrant& grant);
  // x-ratelimit-...: of the limits of a minute that the key has, in the form of the OpenAI API.
  HttpHeaders headers(const store::KeyGrant& grant);
  // Throws ApiException (503) where the ledger can't be read.
  KeyUse use(const std::string& key_id);

 private:
  struct KeyState {
    MinuteWindow requests;
    MinuteWindow tokens;
    std::int64_t num_running = 0;
    std::int64_t reserved_tokens = 0;  // by those that run
  };

  void check_minute(KeyState& state, const store::KeyLimits& limits, const Moment& now, std::int64_t num_tokens);
  void check_calendar(const KeyState& state, const store::KeyGrant& grant, const Moment& now, std::int64_t num_tokens);
  std::int64_t ledger_tokens(const std::string& key_id, std::int64_t first_day, std::int64_t last_day) const;

  Sources sources_;
  std::unordered_map<std::string, KeyState> states_;  // of keys that were used; their places don't change
};

// A request that was let in, until its end.
class Quotas::Ticket {
 public:
  Ticket(Quotas& quotas, const store::KeyGrant& grant, KeyState& state, MinuteWindow::Clock::time_point came);
  // What is still reserved is free again.
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  // Most tokens that a request of this key could ever have; nullopt: any number.
  std::optional<std::int64_t> most_tokens() const;
  HttpHeaders headers() const { return quotas_.headers(grant_); }
  // Sets aside what the request may use at most. At most once. Throws ApiException (429): then nothing is set aside,
  // and the request does not count as one.
  void reserve(std::int64_t num_tokens);
  // In place of what is reserved counts, from now on for a minute, what was used. For longer it counts by the ledger,
  // which must have it already.
  void settle(std::int64_t num_tokens);

 private:
  Quotas& quotas_;
  store::KeyGrant grant_;
  KeyState& state_;
  MinuteWindow::Clock::time_point came_;
  std::int64_t reserved_tokens_ = 0;
};

}  // namespace vitrine::server
