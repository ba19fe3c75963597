#include "store/usage_ledger.h"

#include <utility>

#include <fmt/format.h>

#include "base/result.h"
#include "base/utc_date.h"

namespace vitrine::store {
namespace {

constexpr const char* kInsert = "INSERT INTO usage VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

constexpr const char* kAddToTotals =
    "INSERT INTO totals VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET requests = requests + 1, "
    "prompt_tokens = prompt_tokens + excluded.prompt_tokens, cached_tokens = cached_tokens + excluded.cached_tokens, "
    "completion_tokens = completion_tokens + excluded.completion_tokens, cost_nano = cost_nano + excluded.cost_nano";

}  // namespace

UsageLedger::UsageLedger(const std::filesystem::path& folder)
    : database_(open_usage_file(folder, kPatience)),
      insert_(database_.prepare(kInsert)),
      add_(database_.prepare(kAddToTotals)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

UsageLedger::~UsageLedger() = default;

void UsageLedger::append(UsageRow row, std::function<void(bool is_kept)> done) {
  const std::scoped_lock lock(mutex_);
  queue_.push_back({std::move(row), std::move(done)});
  filled_.notify_one();
}

void UsageLedger::run(const std::stop_token& stop) {
  for (auto batch = wait_for_rows(stop); !batch.empty(); batch = wait_for_rows(stop)) {
    const bool is_kept = write(batch);
    for (const Entry& entry : batch)
      entry.done(is_kept);
  }
}

// Nothing at the end.
std::vector<UsageLedger::Entry> UsageLedger::wait_for_rows(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, stop, [this] { return !queue_.empty(); });
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
