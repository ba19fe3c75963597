#include "store/prices.h"

#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "store/toml_file.h"

namespace vitrine::store {
namespace {

constexpr double kHighest = 100'000.0;  // a request of ninety million tokens then still has a cost that fits

std::optional<std::int64_t> read_price(const std::filesystem::path& file, const std::string& model,
                                       const toml::table& row, std::string_view field) {
  if (!row.contains(field)) return std::nullopt;
  const auto price = row[field].value<double>();
  if (!price || !(*price >= 0.0 && *price <= kHighest))
    throw wrong_setting(file, fmt::format("models.{}.{}: must be a number from 0 to {}", model, field, kHighest));
  return std::llround(*price * 1e6);
}

Price read_row(const std::filesystem::path& file, const std::string& model, const toml::table& row) {
  for (const auto& [field, value] : row) {
    if (field != "input" && field != "cached_input" && field != "output")
      throw wrong_setting(file,
                          fmt::format("models.{}.{}: there are input, cached_input and output", model, field.str()));
  }
  const auto input = read_price(file, model, row, "input");
  const auto output = read_price(file, model, row, "output");
  if (!input || !output) throw wrong_setting(file, fmt::format("models.{}: give input and output", model));
  return {*input, read_price(file, model, row, "cached_input").value_or(*input), *output};
}

}  // namespace

PriceTable::PriceTable(const std::filesystem::path& file) {
  const toml::table root = parse_toml(file);
  currency_ = root["currency"].value_or(std::string());
  if (currency_.empty() || currency_.size() > 16) throw wrong_setting(file, "currency: give its name, such as \"USD\"");
  const toml::table* models = root["models"].as_table();
  if (models == nullptr) throw wrong_setting(file, "models: there is no [models.\"NAME\"] in it");
  for (const auto& [name, row] : *models) {
    const std::string model(name.str());
    if (!row.is_table()) throw wrong_setting(file, fmt::format("models.{}: must be a table", model));
    prices_.emplace(model, read_row(file, model, *row.as_table()));
  }
}

Cost PriceTable::cost(std::string_view model, std::int64_t prompt_tokens, std::int64_t cached_tokens,
                      std::int64_t completion_tokens) const {
  const auto found = prices_.find(model);
  if (found == prices_.end()) return {};
  const Price& price = found->second;
  const std::int64_t pico = (prompt_tokens - cached_tokens) * price.input + cached_tokens * price.cached_input +
                            completion_tokens * price.output;
  return {(pico + 500) / 1000, currency_};
}

}  // namespace vitrine::store
