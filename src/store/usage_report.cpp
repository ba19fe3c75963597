#include "store/usage_report.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/utc_date.h"
#include "store/usage_file.h"

namespace vitrine::store {
namespace {

struct GroupRow {
  UsageGroup group;
  std::string_view name;
  std::string_view column;
};
constexpr std::array kGroups = std::to_array<GroupRow>({
    {UsageGroup::kKey, "key", "key_id"},
    {UsageGroup::kModel, "model", "model"},
    {UsageGroup::kDay, "day", "day"},
});

const GroupRow& row_of(UsageGroup group) {
  return *std::ranges::find(kGroups, group, &GroupRow::group);
}

}  // namespace

std::optional<UsageGroup> parse_usage_group(std::string_view word) {
  const auto found = std::ranges::find(kGroups, word, &GroupRow::name);
  return found == kGroups.end() ? std::nullopt : std::optional(found->group);
}

std::string_view name_of(UsageGroup group) {
  return row_of(group).name;
}

UsageReport::UsageReport(const std::filesystem::path& folder, std::chrono::milliseconds patience)
    : database_(open_usage_file(folder, patience)),
      tokens_(database_.prepare("SELECT coalesce(sum(prompt_tokens + completion_tokens), 0) FROM totals "
                                "WHERE key_id = ? AND day BETWEEN ? AND ?")) {}

std::vector<UsageSum> UsageReport::sums(const UsageQuery& query) const {
  const std::string sql = fmt::format(
      "SELECT {0}, currency, sum(requests), sum(prompt_tokens), sum(cached_tokens), sum(completion_tokens), "
      "sum(cost_nano) FROM totals WHERE day BETWEEN ? AND ? AND {1} GROUP BY {0}, currency ORDER BY {0}, currency",
      row_of(query.group).column, query.key_id ? "key_id = ?" : "true");
  Statement rows = database_.prepare(sql);
  rows.bind(1, query.first_day.value_or(std::numeric_limits<std::int64_t>::min()));
  rows.bind(2, query.last_day.value_or(std::numeric_limits<std::int64_t>::max()));
  if (query.key_id) rows.bind(3, *query.key_id);
  std::vector<UsageSum> all;
  while (rows.step()) {
    all.push_back({.group = query.group == UsageGroup::kDay ? base::format_day(rows.integer(0)) : rows.text(0),
                   .requests = rows.integer(2),
                   .prompt_tokens = rows.integer(3),
                   .cached_tokens = rows.integer(4),
                   .completion_tokens = rows.integer(5),
                   .cost_nano = rows.integer(6),
                   .currency = rows.text(1)});
  }
  return all;
}

std::int64_t UsageReport::tokens(const std::string& key_id, std::int64_t first_day, std::int64_t last_day) {
  tokens_.bind(1, key_id).bind(2, first_day).bind(3, last_day).step();
  const std::int64_t sum = tokens_.integer(0);
  tokens_.reset();
  return sum;
}

}  // namespace vitrine::store
