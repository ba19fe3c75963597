#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace vitrine::store {

// What a million tokens cost, in 1e-6 of the currency, which is what one token costs in 1e-12 of it.
struct Price {
  std::int64_t input = 0;         // of a prompt, computed
  std::int64_t cached_input = 0;  // of a prompt, taken from the prefix cache
  std::int64_t output = 0;
};

// In whole numbers, so that sums are exact.
struct Cost {
  std::int64_t nano = 0;  // 1e-9 of the currency
  std::string currency;   // empty: there is no price
};

// The prices of models, from a TOML file:
//   currency = "USD"
//   [models."smollm2-135m-instruct"]
//   input = 0.05          # a million tokens
//   cached_input = 0.01   # absent: as input
//   output = 0.20
class PriceTable {
 public:
  PriceTable() = default;
  // Throws base::Exception naming the file and the field: kMissing, kConfig.
  explicit PriceTable(const std::filesystem::path& file);

  // Cached tokens are part of the prompt's.
  Cost cost(std::string_view model, std::int64_t prompt_tokens, std::int64_t cached_tokens,
            std::int64_t completion_tokens) const;

 private:
  std::string currency_;
  std::map<std::string, Price, std::less<>> prices_;
};

}  // namespace vitrine::store
