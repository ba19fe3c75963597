#include "cost/prices.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/utc_date.h"
#include "settings/toml_file.h"

namespace vitrine::cost {
namespace {

using settings::wrong_setting;

constexpr double kHighest = 100'000.0;  // a request of ninety million tokens then still has a cost that fits

bool is_price(double price) {
  return price >= 0.0 && price <= kHighest;
}

std::optional<std::int64_t> read_price(const std::filesystem::path& file, const std::string& model,
                                       const toml::table& row, std::string_view field) {
  if (!row.contains(field)) return std::nullopt;
  const auto price = row[field].value<double>();
  if (!price || !is_price(*price))
    throw wrong_setting(file, fmt::format("models.{}.{}: must be a number from 0 to {}", model, field, kHighest));
  return std::llround(*price * 1e6);
}

Price read_row(const std::filesystem::path& file, const std::string& model, const toml::table& row) {
  for (const auto& [field, value] : row) {
    if (field != "input" && field != "cached_input" && field != "output" && field != "tokenizer")
      throw wrong_setting(
          file, fmt::format("models.{}.{}: there are input, cached_input, output and tokenizer", model, field.str()));
  }
  const auto input = read_price(file, model, row, "input");
  const auto output = read_price(file, model, row, "output");
  if (!input || !output) throw wrong_setting(file, fmt::format("models.{}: give input and output", model));
  if (row.contains("tokenizer") && !row["tokenizer"].is_string())
    throw wrong_setting(file, fmt::format("models.{}.tokenizer: must be a text", model));
  return {*input, read_price(file, model, row, "cached_input").value_or(*input), *output,
          row["tokenizer"].value_or(std::string())};
}

std::string read_date(const std::filesystem::path& file, const toml::table& root) {
  if (!root.contains("date")) return {};
  const auto date = root["date"].value<std::string>();
  if (!date || !base::parse_day(*date)) throw wrong_setting(file, "date: must be a day such as \"2025-08-31\"");
  return *date;
}

std::map<std::string, Price, std::less<>> read_models(const std::filesystem::path& file, const toml::table& root) {
  const toml::table* models = root["models"].as_table();
  if (models == nullptr) throw wrong_setting(file, "models: there is no [models.\"NAME\"] in it");
  std::map<std::string, Price, std::less<>> prices;
  for (const auto& [name, row] : *models) {
    const std::string model(name.str());
    if (!row.is_table()) throw wrong_setting(file, fmt::format("models.{}: must be a table", model));
    prices.emplace(model, read_row(file, model, *row.as_table()));
  }
  return prices;
}

std::string read_currency(const std::filesystem::path& file, const toml::table& root) {
  std::string currency = root["currency"].value_or(std::string());
  if (currency.empty() || currency.size() > 16) throw wrong_setting(file, "currency: give its name, such as \"USD\"");
  return currency;
}

// In 1e-12 of the currency.
std::int64_t pico_cost(const Price& price, const CallTokens& tokens) {
  return (tokens.prompt - tokens.cached) * price.input + tokens.cached * price.cached_input +
         tokens.output * price.output;
}

}  // namespace

double cost_per_call(const Price& price, const CallTokens& tokens) {
  return static_cast<double>(pico_cost(price, tokens)) / 1e12;
}

PriceTable::PriceTable(const std::filesystem::path& file) {
  const toml::table root = settings::parse_toml(file);
  currency_ = read_currency(file, root);
  date_ = read_date(file, root);
  prices_ = read_models(file, root);
}

PriceTable PriceTable::parse(std::string_view text, const std::filesystem::path& file) {
  const toml::table root = settings::parse_toml_text(text, file);
  PriceTable table;
  table.currency_ = read_currency(file, root);
  table.date_ = read_date(file, root);
  table.prices_ = read_models(file, root);
  return table;
}

PriceTable PriceTable::builtin() {
  return parse(builtin_prices_toml(), "prices.toml");
}

std::vector<std::string> PriceTable::models() const {
  std::vector<std::string> names;
  for (const auto& [name, price] : prices_)
    names.push_back(name);
  return names;
}

const Price* PriceTable::find(std::string_view model) const {
  const auto found = prices_.find(model);
  return found == prices_.end() ? nullptr : &found->second;
}

Cost PriceTable::cost(std::string_view model, std::int64_t prompt_tokens, std::int64_t cached_tokens,
                      std::int64_t completion_tokens) const {
  const Price* price = find(model);
  if (price == nullptr) return {};
  return {(pico_cost(*price, {prompt_tokens, cached_tokens, completion_tokens}) + 500) / 1000, currency_};
}

std::int64_t parse_price(std::string_view text, std::string_view what) {
  double price = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), price);
  if (error == std::errc() && end == text.data() + text.size() && is_price(price)) return std::llround(price * 1e6);
  throw base::Exception(base::ErrorKind::kUsage,
                        fmt::format("{}: \"{}\" is no price from 0 to {} for a million tokens", what, text, kHighest));
}

}  // namespace vitrine::cost
