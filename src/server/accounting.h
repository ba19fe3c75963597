#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cost/prices.h"
#include "server/quotas.h"
#include "store/key_plans.h"
#include "store/key_store.h"
#include "store/usage_ledger.h"
#include "store/usage_report.h"

namespace vitrine::server {

// Who the clients are, what they may use, what they have used and what it costs. Used on the thread of the sockets, but
// for keys() and what it says otherwise.
class Accounting {
 public:
  // The ledger lies beside the keys. Throws base::Exception.
  struct Settings {
    cost::PriceTable prices = {};
    store::Plans plans = {};                           // that keys may name
    std::optional<std::int64_t> usage_keep_days = {};  // of the ledger's rows; absent: for ever
  };
  Accounting(store::KeyStore& keys, Settings settings);

  store::KeyStore& keys() { return keys_; }  // any thread; waits for the disk
  Quotas& quotas() { return quotas_; }
  const cost::PriceTable& prices() const { return prices_; }
  const store::Plans& plans() const { return plans_; }  // any thread
  const std::filesystem::path& folder() const { return keys_.files().folder; }
  // Writes the row, its cost put in. `done` as UsageLedger::append has it. Any thread.
  void note(store::UsageRow row, std::function<void(bool is_kept)> done);

 private:
  store::KeyStore& keys_;
  cost::PriceTable prices_;
  store::Plans plans_;
  store::UsageReport report_;
  Quotas quotas_;
  store::UsageLedger ledger_;
};

}  // namespace vitrine::server
