#include "server/accounting.h"

#include <utility>

#include "base/unix_time.h"

namespace vitrine::server {

Accounting::Accounting(store::KeyStore& keys, Settings settings)
    : keys_(keys),
      prices_(std::move(settings.prices)),
      plans_(std::move(settings.plans)),
      report_(folder(), store::kServingPatience),
      quotas_({.now =
                   [] {
                     return Quotas::Moment{MinuteWindow::Clock::now(), base::unix_time_s()};
                   },
               .ledger_tokens = [this](const std::string& key_id, std::int64_t first_day,
                                       std::int64_t last_day) { return report_.tokens(key_id, first_day, last_day); }}),
      ledger_(folder(), settings.usage_keep_days) {}

void Accounting::note(store::UsageRow row, std::function<void(bool is_kept)> done) {
  cost::Cost cost = prices_.cost(row.model, row.prompt_tokens, row.cached_tokens, row.completion_tokens);
  row.cost_nano = cost.nano;
  row.currency = std::move(cost.currency);
  ledger_.append(std::move(row), std::move(done));
}

}  // namespace vitrine::server
