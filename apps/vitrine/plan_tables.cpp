#include "vitrine/plan_tables.h"

#include <charconv>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/result.h"
#include "vitrine/table_row.h"

namespace vitrine::cli {
namespace {

const std::string kPlansFlag = "--plans";

std::vector<std::string> plan_keys() {
  std::vector<std::string> keys;
  for (const store::LimitRow& row : store::limit_rows())
    keys.emplace_back(row.name);
  keys.emplace_back("models");
  return keys;
}

store::LimitChanges read_plan_row(const TableRow& row, const store::KeyLimits& before) {
  if (row.key == "models") {
    std::vector<std::string> models = before.models;
    models.push_back(row.value);
    return {.models = models};
  }
  const store::LimitRow* limit = store::find_limit_row(row.key);
  if (limit == nullptr) refuse_key(kPlansFlag, row, plan_keys());
  const std::string place = fmt::format("{} {}.{}", kPlansFlag, row.name, row.key);
  return {.numbers = {{limit, parse_limit(*limit, row.value, place)}}};
}

}  // namespace

store::KeyLimits::Number parse_limit(const store::LimitRow& row, const std::string& text, const std::string& flag) {
  if (text == "none" || text == "0") return std::nullopt;
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc() && end == text.data() + text.size()) return number;
  throw base::Exception(base::ErrorKind::kUsage, fmt::format("{} {}: give a whole number from {} to {}, or none", flag,
                                                             text, row.lowest, row.highest));
}

std::string describe_limits(const store::KeyLimits& limits) {
  std::vector<std::string> parts;
  for (const store::LimitRow& row : store::limit_rows()) {
    if (const auto& number = limits.*row.number) parts.push_back(fmt::format("{} {}", row.name, *number));
  }
  if (!limits.models.empty()) parts.push_back(fmt::format("models {}", fmt::join(limits.models, " ")));
  if (!limits.plan.empty()) parts.push_back("plan " + limits.plan);
  return fmt::format("{}", fmt::join(parts, ", "));
}

void take_plan_row(const std::string& word, store::Plans& plans) {
  const TableRow row = split_table_row(kPlansFlag, word);
  if (!store::is_plan_name(row.name))
    refuse_row(kPlansFlag, {row.name, "", ""},
               "a plan's name is 1 to 64 letters, digits, dots, hyphens and underscores, and not none");
  store::KeyLimits& plan = plans[row.name];
  if (row.key.empty()) return;
  const store::LimitChanges changes = read_plan_row(row, plan);
  try {
    plan = store::changed(plan, changes);
  } catch (const base::Exception& exception) {
    refuse_row(kPlansFlag, {row.name, "", ""}, exception.what());
  }
}

}  // namespace vitrine::cli
