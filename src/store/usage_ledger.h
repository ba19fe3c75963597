#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "store/usage_file.h"

namespace vitrine::store {

// Writes the rows of the usage ledger on a thread of its own. What comes while it waits for the disk is written
// together, so that many answers share one wait. While nothing comes it deletes, some at a time, the rows of requests
// that are older than they are to be kept; the sums of days stay. Any thread.
class UsageLedger {
 public:
  // `keep_days`: how long rows are kept; absent: for ever. Throws base::Exception.
  explicit UsageLedger(const std::filesystem::path& folder, std::optional<std::int64_t> keep_days = {});
  // Writes what is queued.
  ~UsageLedger();
  UsageLedger(const UsageLedger&) = delete;
  UsageLedger& operator=(const UsageLedger&) = delete;

  // `done` is called once, on the ledger's thread: with true when the row is on the disk, whatever ends the process or
  // the machine then; with false when it could not be written and is lost, which is printed. Must not throw.
  void append(UsageRow row, std::function<void(bool is_kept)> done);

 private:
  struct Entry {
    UsageRow row;
    std::function<void(bool)> done;
  };

  void run(const std::stop_token& stop);
  std::vector<Entry> wait_for_rows(const std::stop_token& stop);
  bool write(const std::vector<Entry>& batch);
  void insert(const UsageRow& row);
  void add_to_totals(const UsageRow& row);
  void delete_some_old();

  const std::optional<std::int64_t> keep_days_;
  Database database_;
  Statement insert_;
  Statement add_;
  Statement delete_;
  std::chrono::steady_clock::time_point next_delete_;
  bool is_broken_ = false;
  std::mutex mutex_;
  std::condition_variable_any filled_;
  std::vector<Entry> queue_;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace vitrine::store
