#include "server/accounting.h"

#include <utility>

#include "base/unix_time.h"

namespace vitrine::server {

Accounting::Accounting(store::KeyStore& keys, cost::PriceTable prices, store::Plans plans)
    : keys_(keys),
      prices_(std::move(prices)),
      plans_(std::move(plans)),
      report_(folder(), store::kServingPatience),
      quotas_({.now =
                   [] {
                     return Quotas::Moment{MinuteWindow::Clock::now(), base::unix_time_s()};
                   },
               .ledger_tokens = [this](const std::string& key_id, std::int64_t first_day,
                                       std::int64_t last_day) { return report_.tokens(key_id, first_day, last_day); }}),
      ledger_(folder()) {}

void Accounting::note(store::UsageRow row, std::function<void(bool is_kept)> done) {
  cost::Cost cost = prices_.cost(row.model, row.prompt_tokens, row.cached_tokens, row.completion_tokens);
  row.cost_nano = cost.nano;
  row.currency = std::move(cost.currency);
  ledger_.append(std::move(row), std::move(done));
}

}  // namespace vitrine::server
