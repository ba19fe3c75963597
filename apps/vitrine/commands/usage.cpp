#include <array>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/result.h"
#include "base/utc_date.h"
#include "store/key_store.h"
#include "store/usage_json.h"
#include "vitrine/commands/commands.h"
#include "vitrine/output.h"
#include "vitrine/state_directory.h"

namespace vitrine::cli {
namespace {

using store::UsageGroup;
using store::UsageSum;

std::optional<std::int64_t> parse_day(const char* flag, const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto day = base::parse_day(text);
  if (!day) throw base::Exception(base::ErrorKind::kUsage, fmt::format("{} {}: write it as 2025-03-14", flag, text));
  return day;
}

// The cells of a row, those of its group first.
std::vector<std::string> cells(const UsageSum& sum, UsageGroup group) {
  std::vector<std::string> all = {sum.group.empty() ? "none" : sum.group};
  if (group == UsageGroup::kKey) all.push_back(sum.name);
  for (const std::int64_t count : {sum.requests, sum.prompt_tokens, sum.cached_tokens, sum.completion_tokens})
    all.push_back(fmt::format("{}", count));
  all.push_back(sum.currency.empty() ? "" : store::format_cost(sum.cost_nano));
  all.push_back(sum.currency);
  return all;
}

std::vector<std::string> header(UsageGroup group) {
  std::vector<std::string> all = {std::string(store::name_of(group))};
  if (group == UsageGroup::kKey) all.emplace_back("name");
  for (const char* name : {"requests", "prompt_tokens", "cached_tokens", "completion_tokens", "cost", "currency"})
    all.emplace_back(name);
  return all;
}

// RFC 4180.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_line(std::vector<std::string> row) {
  for (std::string& cell : row)
    cell = csv_cell(cell);
  return fmt::format("{}\r\n", fmt::join(row, ","));
}

class UsageCommand final : public Command {
 public:
  explicit UsageCommand(const Parser& parser) {
    parser.add("--by", by_, "What the rows are for: key, model or day (default key)").one_of({"key", "model", "day"});
    parser.add("--from", from_, "The first day, such as 2025-03-14 (UTC)");
    parser.add("--to", to_, "The last day");
    parser.add("--key", key_, "Of one key alone, by its id");
    parser.add_switch("--csv", is_csv_, "Comma-separated values");
  }

  int run(Context& context) override {
    const auto folder = required_state_path();
    store::KeyStore keys(folder);
    const store::UsageReport report(folder, store::kPatience);
    store::UsageQuery query{.group = *store::parse_usage_group(by_),
                            .first_day = parse_day("--from", from_),
                            .last_day = parse_day("--to", to_)};
    if (!key_.empty()) query.key_id = key_;
    print(store::named_sums(report, keys, query), query.group, context);
    return 0;
  }

 private:
  void print(const std::vector<UsageSum>& sums, UsageGroup group, const Context& context) const {
    if (context.flags.json) return print_json(context, store::usage_json(sums, group));
    Table table{header(group), {}, {}};
    for (const UsageSum& sum : sums)
      table.rows.push_back(cells(sum, group));
    if (is_csv_) {
      context.out.print(csv_line(table.header));
      for (const auto& row : table.rows)
        context.out.print(csv_line(row));
    } else if (sums.empty()) {
      context.err.print("nothing was used; `vitrine serve` notes every answer\n");
    } else {
      print_columns(std::move(table), context);
    }
  }

  static void print_columns(Table table, const Context& context) {
    const std::size_t num_right = 5;  // the counts and the cost, before the currency
    for (std::size_t i = table.header.size() - 1 - num_right; i + 1 < table.header.size(); ++i)
      table.right.push_back(i);
    for (std::string& name : table.header) {
      for (char& c : name)
        c = c == '_' ? ' ' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    print_table(context.out, table);
  }

  std::string by_ = "key";
  std::string from_;
  std::string to_;
  std::string key_;
  bool is_csv_ = false;
};

}  // namespace

std::unique_ptr<Command> make_usage(const Parser& parser) {
  return std::make_unique<UsageCommand>(parser);
}

}  // namespace vitrine::cli
