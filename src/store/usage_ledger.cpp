#include "store/usage_ledger.h"

#include <utility>

#include <fmt/format.h>

#include "base/result.h"
#include "base/unix_time.h"
#include "base/utc_date.h"

namespace vitrine::store {
namespace {

constexpr const char* kInsert = "INSERT INTO usage VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

constexpr const char* kAddToTotals =
    "INSERT INTO totals VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET requests = requests + 1, "
    "prompt_tokens = prompt_tokens + excluded.prompt_tokens, cached_tokens = cached_tokens + excluded.cached_tokens, "
    "completion_tokens = completion_tokens + excluded.completion_tokens, cost_nano = cost_nano + excluded.cost_nano";

// Rows are numbered as they come: the oldest are the first, and looking at those alone costs the same in any file.
constexpr const char* kDeleteOld =
    "DELETE FROM usage WHERE time < ?1 AND number IN (SELECT number FROM usage ORDER BY number LIMIT ?2)";
constexpr std::int64_t kRowsAtOnce = 500;
constexpr std::chrono::hours kDeleteInterval{1};

}  // namespace

UsageLedger::UsageLedger(const std::filesystem::path& folder, std::optional<std::int64_t> keep_days)
    : keep_days_(keep_days),
      database_(open_usage_file(folder, kPatience)),
      insert_(database_.prepare(kInsert)),
      add_(database_.prepare(kAddToTotals)),
      delete_(database_.prepare(kDeleteOld)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

UsageLedger::~UsageLedger() = default;

void UsageLedger::append(UsageRow row, std::function<void(bool is_kept)> done) {
  const std::scoped_lock lock(mutex_);
  queue_.push_back({std::move(row), std::move(done)});
  filled_.notify_one();
}

void UsageLedger::run(const std::stop_token& stop) {
  for (auto batch = wait_for_rows(stop); !batch.empty() || !stop.stop_requested(); batch = wait_for_rows(stop)) {
    if (batch.empty()) {
      delete_some_old();
      continue;
    }
    const bool is_kept = write(batch);
    for (const Entry& entry : batch)
      entry.done(is_kept);
  }
}

// Nothing at the end, and where it is time to delete old ones.
std::vector<UsageLedger::Entry> UsageLedger::wait_for_rows(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto has_rows = [this] { return !queue_.empty(); };
  keep_days_ ? filled_.wait_until(lock, stop, next_delete_, has_rows) : filled_.wait(lock, stop, has_rows);
  return std::exchange(queue_, {});
}

bool UsageLedger::write(const std::vector<Entry>& batch) {
  try {
    Transaction transaction(database_);
    for (const Entry& entry : batch) {
      insert(entry.row);
      add_to_totals(entry.row);
    }
    transaction.commit();
    is_broken_ = false;
    return true;
  } catch (const base::Exception& exception) {
    if (!std::exchange(is_broken_, true)) fmt::print(stderr, "vitrine: usage is not noted: {}\n", exception.what());
    return false;
  }
}

// Each call is a transaction of its own, so that rows that come meanwhile wait for one of them at most.
void UsageLedger::delete_some_old() {
  try {
    const std::int64_t oldest_s = base::unix_time_s() - *keep_days_ * base::kSecondsPerDay;
    const bool may_be_more = delete_.bind(1, oldest_s).bind(2, kRowsAtOnce).run() == kRowsAtOnce;
    if (may_be_more) return;
  } catch (const base::Exception& exception) {
    fmt::print(stderr, "vitrine: old usage is not deleted: {}\n", exception.what());
  }
  next_delete_ = std::chrono::steady_clock::now() + kDeleteInterval;
}

void UsageLedger::insert(const UsageRow& row) {
  insert_.bind(1, row.time_s)
      .bind(2, row.key_id)
      .bind(3, row.request_id)
      .bind(4, row.model)
      .bind(5, row.endpoint)
      .bind(6, row.prompt_tokens)
      .bind(7, row.cached_tokens)
      .bind(8, row.completion_tokens)
      .bind(9, row.outcome)
      .bind(10, row.queue_s)
      .bind(11, row.prefill_s)
      .bind(12, row.decode_s)
      .bind(13, row.total_s)
      .bind(14, row.cost_nano)
      .bind(15, row.currency)
      .run();
}

void UsageLedger::add_to_totals(const UsageRow& row) {
  add_.bind(1, row.key_id)
      .bind(2, base::utc_day(row.time_s))
      .bind(3, row.model)
      .bind(4, row.currency)
      .bind(5, row.prompt_tokens)
      .bind(6, row.cached_tokens)
      .bind(7, row.completion_tokens)
      .bind(8, row.cost_nano)
      .run();
}

}  // namespace vitrine::store
