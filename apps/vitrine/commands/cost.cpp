#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "cost/prices.h"
#include "vitrine/commands/commands.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"
#include "vitrine/text_input.h"
#include "vitrine/tokenizer_set.h"

namespace vitrine::cli {
namespace {

using Json = nlohmann::ordered_json;

// A price that is asked for, and the tokenizer to count by; no tokenizer where the tokens are given.
struct PricedName {
  std::string model;  // empty for a price from the command line
  std::string tokenizer;
  cost::Price price;
};

struct CostRow {
  PricedName priced;
  cost::CallTokens tokens;
  double per_call = 0;
};

class CostCommand final : public Command {
 public:
  explicit CostCommand(const Parser& parser) {
    parser.add("text", text_, "The prompt; what is piped in where none is given");
    parser.add("--file", file_, "The text of this file is the prompt");
    parser.add("--tokens", tokens_, "The prompt has this many tokens, whatever the tokenizer")
        .group("Tokens")
        .type_name("N");
    parser.add("--output-tokens", output_tokens_, "Tokens of an answer (default 0)").group("Tokens").type_name("N");
    parser.add("--cached-percent", cached_percent_, "Share of the prompt that is sent again and again and costs less")
        .between(0, 100)
        .group("Tokens");
    parser.add("--models", models_, "Models of the price table, with commas (default: all)")
        .with_commas()
        .group("Prices");
    parser.add("--prices", prices_file_, "A TOML file of prices in place of the built-in table")
        .group("Prices")
        .type_name("FILE");
    parser.add_switch("--show-prices", show_prices_, "Print the built-in table, to be edited").group("Prices");
    parser.add("--tokenizers", tokenizers_, "Price these tokenizers by --price, with commas (default: all on disk)")
        .with_commas()
        .group("Prices");
    parser.add("--price", price_, "A million tokens of the prompt cost this, whatever the model").group("Prices");
    parser.add("--cached-price", cached_price_, "The same for cached ones (default: as --price)").group("Prices");
    parser.add("--output-price", output_price_, "The same for tokens of the answer (default: as --price)")
        .group("Prices");
    parser.add("--calls", calls_per_day_, "Calls a day (default 100000)").positive().group("How much");
    parser.add("--days", days_per_month_, "Days a month (default 30)").positive().group("How much");
  }

  int run(Context& context) override {
    if (show_prices_) {
      context.out.print(cost::builtin_prices_toml());
      return 0;
    }
    const Models models;
    const cost::PriceTable table = prices_file_.empty() ? cost::PriceTable::builtin() : cost::PriceTable(prices_file_);
    const std::string text = tokens_ ? std::string() : take_prompt();
    std::vector<PricedName> missing;
    std::vector<CostRow> rows =
        price_ ? rows_at_one_price(models, text, context) : rows_of_table(models, table, text, missing);
    std::ranges::stable_sort(rows, {}, &CostRow::per_call);
    if (context.flags.json) {
      print_json(context, to_json(table, text, rows, missing));
    } else {
      print_rows(table, rows, context);
    }
    say_missing(missing, context);
    return 0;
  }

 private:
  std::string take_prompt() const { return take_text(text_, file_); }

  CostRow row_of(PricedName priced, std::size_t num_tokens) const {
    cost::CallTokens tokens{.prompt = static_cast<std::int64_t>(num_tokens),
                            .cached = static_cast<std::int64_t>(num_tokens * cached_percent_ / 100),
                            .output = static_cast<std::int64_t>(output_tokens_)};
    const double per_call = cost::cost_per_call(priced.price, tokens);
    return {std::move(priced), tokens, per_call};
  }

  static std::size_t count_tokens(const NamedTokenizer& named, const std::string& text) {
    return named.tokenizer->encode(text, {}).value_or_throw().size();
  }

  cost::Price price_of_flags() const {
    cost::Price price;
    price.input = cost::parse_price(*price_, "--price");
    price.cached_input = cached_price_ ? cost::parse_price(*cached_price_, "--cached-price") : price.input;
    price.output = output_price_ ? cost::parse_price(*output_price_, "--output-price") : price.input;
    return price;
  }

  std::vector<CostRow> rows_at_one_price(const Models& models, const std::string& text, const Context& context) const {
    if (!models_.empty()) refuse("--models: --price is the price whatever the model; keep one of them");
    const cost::Price price = price_of_flags();
    if (tokens_) return {row_of({"", "", price}, *tokens_)};
    std::vector<CostRow> rows;
    for (const NamedTokenizer& named : open_tokenizers(models, tokenizers_, context))
      rows.push_back(row_of({"", named.name, price}, count_tokens(named, text)));
    return rows;
  }

  std::vector<PricedName> named_prices(const cost::PriceTable& table) const {
    if (!tokenizers_.empty()) refuse("--tokenizers: give --price, or name models of the price table with --models");
    if (cached_price_ || output_price_) refuse("--cached-price, --output-price: give --price as well");
    std::vector<PricedName> names;
    for (const std::string& model : models_.empty() ? table.models() : models_) {
      const cost::Price* price = table.find(model);
      if (price == nullptr) refuse(fmt::format("--models: {} has no price in the table", model));
      if (price->tokenizer.empty() && !tokens_) refuse(fmt::format("--prices: {} names no tokenizer", model));
      names.push_back({model, price->tokenizer, *price});
    }
    return names;
  }

  // A model of the default list whose tokenizer is not here is left out and named; one that was asked for is an error.
  std::vector<CostRow> rows_of_table(const Models& models, const cost::PriceTable& table, const std::string& text,
                                     std::vector<PricedName>& missing) const {
    std::vector<CostRow> rows;
    std::map<std::string, std::size_t> counts;
    for (const PricedName& priced : named_prices(table)) {
      if (tokens_) {
        rows.push_back(row_of(priced, *tokens_));
        continue;
      }
      if (models_.empty() && tools::can_be_pulled(priced.tokenizer, models.store(), models.catalog())) {
        missing.push_back(priced);
        continue;
      }
      const auto [count, is_new] = counts.try_emplace(priced.tokenizer, 0);
      if (is_new) count->second = count_tokens(open_named(models, priced.tokenizer), text);
      rows.push_back(row_of(priced, count->second));
    }
    return rows;
  }

  double per_day(const CostRow& row) const { return row.per_call * static_cast<double>(calls_per_day_); }
  double per_month(const CostRow& row) const { return per_day(row) * static_cast<double>(days_per_month_); }

  Json to_json(const cost::PriceTable& table, const std::string& text, const std::vector<CostRow>& rows,
               const std::vector<PricedName>& missing) const {
    const auto name_or_null = [](const std::string& name) { return name.empty() ? Json() : Json(name); };
    Json json_rows = Json::array();
    for (const CostRow& row : rows) {
      json_rows.push_back({{"model", name_or_null(row.priced.model)},
                           {"tokenizer", tokens_ ? Json() : name_or_null(row.priced.tokenizer)},
                           {"tokens", row.tokens.prompt},
                           {"bytes", tokens_ ? Json() : Json(text.size())},
                           {"chars", tokens_ ? Json() : Json(num_characters(text))},
                           {"cached_tokens", row.tokens.cached},
                           {"output_tokens", row.tokens.output},
                           {"cost_per_call", row.per_call},
                           {"cost_per_day", per_day(row)},
                           {"cost_per_month", per_month(row)}});
    }
    Json json_missing = Json::array();
    for (const PricedName& priced : missing)
      json_missing.push_back({{"model", priced.model}, {"tokenizer", priced.tokenizer}});
    return {{"rows", json_rows},
            {"currency", table.currency()},
            {"prices_date", price_ ? Json() : name_or_null(table.date())},
            {"calls_per_day", calls_per_day_},
            {"days_per_month", days_per_month_},
            {"missing", json_missing}};
  }

  void print_rows(const cost::PriceTable& table, const std::vector<CostRow>& rows, const Context& context) const {
    if (rows.empty()) return;
    Table shown{{"MODEL", "TOKENIZER", "TOKENS", "CACHED", "OUTPUT", "PER CALL", "PER DAY", "PER MONTH"},
                {2, 3, 4, 5, 6, 7},
                {}};
    for (const CostRow& row : rows) {
      shown.rows.push_back({row.priced.model.empty() ? "-" : row.priced.model,
                            tokens_ || row.priced.tokenizer.empty() ? "-" : row.priced.tokenizer,
                            std::to_string(row.tokens.prompt), std::to_string(row.tokens.cached),
                            std::to_string(row.tokens.output), format_money(row.per_call), format_money(per_day(row)),
                            format_money(per_month(row))});
    }
    print_table(context.out, shown);
    const std::string source = price_                 ? "at the price given"
                               : table.date().empty() ? fmt::format("at the prices of {}", prices_file_)
                                                      : "at the list prices of " + table.date();
    context.out.print(fmt::format("\n{}, {}: {} calls a day, {} days a month.\n", table.currency(), source,
                                  calls_per_day_, days_per_month_));
  }

  static void say_missing(const std::vector<PricedName>& missing, const Context& context) {
    if (context.flags.quiet) return;
    std::map<std::string, std::string> models_by_tokenizer;
    for (const PricedName& priced : missing) {
      std::string& list = models_by_tokenizer[priced.tokenizer];
      list += (list.empty() ? "" : ", ") + priced.model;
    }
    for (const auto& [tokenizer, list] : models_by_tokenizer)
      context.err.print(fmt::format("note: left out: {}; vitrine pull {}\n", list, tokenizer));
  }

  std::optional<std::string> text_;
  std::string file_;
  std::optional<std::size_t> tokens_;
  std::size_t output_tokens_ = 0;
  std::size_t cached_percent_ = 0;
  std::vector<std::string> models_;
  std::string prices_file_;
  bool show_prices_ = false;
  std::vector<std::string> tokenizers_;
  std::optional<std::string> price_, cached_price_, output_price_;
  std::size_t calls_per_day_ = 100'000;
  std::size_t days_per_month_ = 30;
};

}  // namespace

std::unique_ptr<Command> make_cost(const Parser& parser) {
  return std::make_unique<CostCommand>(parser);
}

}  // namespace vitrine::cli
