#include "store/key_limits.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/result.h"
#include "store/key_plans.h"

namespace vitrine::store {
namespace {

constexpr std::int64_t kMost = 1'000'000'000'000'000;  // sums of such numbers can't wrap
constexpr std::size_t kMaxModels = 100;
constexpr std::size_t kMaxModelNameBytes = 200;

constexpr std::array kRows = std::to_array<LimitRow>({
    {"requests_per_minute", &KeyLimits::requests_per_minute, 1, 1'000'000, "Requests in any 60 seconds"},
    {"tokens_per_minute", &KeyLimits::tokens_per_minute, 1, kMost, "Tokens of prompts and answers in any 60 seconds"},
    {"tokens_per_day", &KeyLimits::tokens_per_day, 1, kMost, "Tokens of a day (UTC)"},
    {"tokens_per_month", &KeyLimits::tokens_per_month, 1, kMost, "Tokens of a calendar month (UTC)"},
    {"max_concurrent", &KeyLimits::max_concurrent, 1, 1'000'000, "Requests at once, those that wait among them"},
    {"priority", &KeyLimits::priority, -100, 100, "Requests of a higher one are computed first"},
});

void check_models(const std::vector<std::string>& models) {
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7F; };
  const auto is_bad = [&](const std::string& name) {
    return name.empty() || name.size() > kMaxModelNameBytes || std::ranges::any_of(name, is_control);
  };
  if (models.size() > kMaxModels || std::ranges::any_of(models, is_bad)) {
    throw base::Exception(base::ErrorKind::kUsage,
                          fmt::format("models: at most {} names of 1 to {} bytes without control characters",
                                      kMaxModels, kMaxModelNameBytes));
  }
}

}  // namespace

std::span<const LimitRow> limit_rows() {
  return kRows;
}

const LimitRow* find_limit_row(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &LimitRow::name);
  return found == kRows.end() ? nullptr : &*found;
}

KeyLimits changed(KeyLimits limits, const LimitChanges& changes) {
  for (const auto& [row, number] : changes.numbers) {
    if (number && (*number < row->lowest || *number > row->highest)) {
      throw base::Exception(base::ErrorKind::kUsage,
                            fmt::format("{}: must be from {} to {}", row->name, row->lowest, row->highest));
    }
    limits.*row->number = number;
  }
  if (changes.models) {
    check_models(*changes.models);
    limits.models = *changes.models;
    std::ranges::sort(limits.models);
    const auto twice = std::ranges::unique(limits.models);
    limits.models.erase(twice.begin(), twice.end());
  }
  if (changes.plan) {
    if (!changes.plan->empty() && !is_plan_name(*changes.plan)) {
      throw base::Exception(base::ErrorKind::kUsage,
                            "plan: give its name, 1 to 64 letters, digits, dots, hyphens and underscores");
    }
    limits.plan = *changes.plan;
  }
  return limits;
}

std::map<std::string, KeyLimits> read_limits(const Database& database) {
  std::map<std::string, KeyLimits> all;
  Statement numbers = database.prepare("SELECT key_id, name, value FROM limits");
  while (numbers.step()) {
    if (const LimitRow* row = find_limit_row(numbers.text(1)); row != nullptr)
      all[numbers.text(0)].*row->number = numbers.integer(2);
  }
  Statement models = database.prepare("SELECT key_id, model FROM allowed_models ORDER BY model");
  while (models.step())
    all[models.text(0)].models.push_back(models.text(1));
  Statement plans = database.prepare("SELECT key_id, plan FROM plans");
  while (plans.step())
    all[plans.text(0)].plan = plans.text(1);
  return all;
}

void write_limits(const Database& database, const std::string& key_id, const KeyLimits& limits) {
  database.prepare("DELETE FROM limits WHERE key_id = ?").bind(1, key_id).run();
  Statement number = database.prepare("INSERT INTO limits (key_id, name, value) VALUES (?, ?, ?)");
  for (const LimitRow& row : limit_rows()) {
    if (const auto& value = limits.*row.number) number.bind(1, key_id).bind(2, row.name).bind(3, *value).run();
  }
  database.prepare("DELETE FROM allowed_models WHERE key_id = ?").bind(1, key_id).run();
  Statement model = database.prepare("INSERT INTO allowed_models (key_id, model) VALUES (?, ?)");
  for (const std::string& name : limits.models)
    model.bind(1, key_id).bind(2, name).run();
  database.prepare("DELETE FROM plans WHERE key_id = ?").bind(1, key_id).run();
  if (limits.plan.empty()) return;
  database.prepare("INSERT INTO plans (key_id, plan) VALUES (?, ?)").bind(1, key_id).bind(2, limits.plan).run();
}

}  // namespace vitrine::store
