#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::cost {

// What a million tokens cost, in 1e-6 of the currency, which is what one token costs in 1e-12 of it.
struct Price {
  std::int64_t input = 0;         // of a prompt, computed
  std::int64_t cached_input = 0;  // of a prompt, taken from the prefix cache
  std::int64_t output = 0;
  std::string tokenizer = {};  // by which the model's tokens are counted; may be empty
};

// In whole numbers, so that sums are exact.
struct Cost {
  std::int64_t nano = 0;  // 1e-9 of the currency
  std::string currency;   // empty: there is no price
};

// The tokens of a call. The cached ones are part of the prompt's.
struct CallTokens {
  std::int64_t prompt = 0;
  std::int64_t cached = 0;
  std::int64_t output = 0;
};

// What a call costs, in the currency.
double cost_per_call(const Price& price, const CallTokens& tokens);

// The prices of models, from a TOML file:
//   date = "2025-08-31"   # of the prices; may be left out
//   currency = "USD"
//   [models."smollm2-135m-instruct"]
//   tokenizer = "tok:smollm2"   # may be left out
//   input = 0.05          # a million tokens
//   cached_input = 0.01   # absent: as input
//   output = 0.20
class PriceTable {
 public:
  PriceTable() = default;
  // Throws base::Exception naming the file and the field: kMissing, kConfig.
  explicit PriceTable(const std::filesystem::path& file);
  // The same of a text at hand; `file` is the name that a refusal gives.
  static PriceTable parse(std::string_view text, const std::filesystem::path& file);
  // The list prices that were known when the program was built, with their date.
  static PriceTable builtin();

  const std::string& date() const { return date_; }  // empty where the file has none
  const std::string& currency() const { return currency_; }
  std::vector<std::string> models() const;          // by name
  const Price* find(std::string_view model) const;  // null where it has no price

  Cost cost(std::string_view model, std::int64_t prompt_tokens, std::int64_t cached_tokens,
            std::int64_t completion_tokens) const;

 private:
  std::string date_;
  std::string currency_;
  std::map<std::string, Price, std::less<>> prices_;
};

// The text of prices.toml as it was when the program was built.
std::string_view builtin_prices_toml();

// A price as people write it, "2.5" for a million tokens, in 1e-6 of the currency. Throws base::Exception (kUsage) that
// begins with `what`.
std::int64_t parse_price(std::string_view text, std::string_view what);

}  // namespace vitrine::cost
