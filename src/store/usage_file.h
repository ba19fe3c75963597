#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "store/database.h"

namespace vitrine::store {

// One answered request, or what was computed of one.
struct UsageRow {
  std::int64_t time_s = 0;  // when it ended, in seconds since 1970
  std::string key_id;       // empty: no key was needed
  std::string request_id;
  std::string model;
  std::string endpoint;  // the path of its route
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // of the prompt
  std::int64_t completion_tokens = 0;
  std::string outcome;  // "stop", "length", "abort", "error"
  double queue_s = 0.0;
  double prefill_s = 0.0;
  double decode_s = 0.0;
  double total_s = 0.0;
  std::int64_t cost_nano = 0;  // in 1e-9 of the currency
  std::string currency;        // empty: the model has no price

  std::int64_t tokens() const { return prompt_tokens + completion_tokens; }
};

// The file of the usage ledger in the folder of the keys. It is one of its own: whoever watches the keys for changes is
// not woken by every answer.
std::filesystem::path usage_path(const std::filesystem::path& folder);

// Opens the ledger; makes the folder and the file (mode 0600) where they are not there yet. Its tables: `usage`, a row
// a request, and `totals`, the sums of each day (counted as base/utc_date.h does), key, model and currency. Throws
// base::Exception: kIo, kNoPermission.
Database open_usage_file(const std::filesystem::path& folder, std::chrono::milliseconds patience);

}  // namespace vitrine::store
