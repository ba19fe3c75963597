#include <future>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/utc_date.h"
#include "cli/run_vitrine.h"
#include "store/key_store.h"
#include "store/usage_ledger.h"
#include "support/temp_dir.h"

namespace vitrine::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class UsageCommand : public ::testing::Test {
 protected:
  RunResult vitrine(std::vector<std::string> words) const {
    return run_vitrine(words, {"VITRINE_STATE=" + folder_.path().string()});
  }
  void note(const std::string& key_id, const char* day, std::int64_t cost_nano) const {
    store::UsageLedger ledger(folder_.path());
    store::UsageRow row;
    row.time_s = *base::parse_day(day) * base::kSecondsPerDay;
    row.key_id = key_id;
    row.model = "tiny";
    row.prompt_tokens = 1000;
    row.cached_tokens = 600;
    row.completion_tokens = 50;
    row.cost_nano = cost_nano;
    row.currency = cost_nano > 0 ? "USD" : "";
    ledger.append(std::move(row), [](bool is_kept) { EXPECT_TRUE(is_kept); });
  }

  TempDir folder_;
  std::string key_ = store::KeyStore(folder_.path()).create("lap,top", store::KeyRole::kUser).info.id;
};

TEST_F(UsageCommand, IsATableJsonAndCommaSeparatedValues) {
  EXPECT_THAT(vitrine({"usage"}).err, HasSubstr("nothing was used"));
  note(key_, "2025-03-14", 12'345);
  note(key_, "2025-03-15", 12'345);
  const RunResult table = vitrine({"usage"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("PROMPT TOKENS"));
  EXPECT_THAT(table.out, HasSubstr(key_ + "  lap,top"));
  EXPECT_THAT(table.out, HasSubstr("0.000024690  USD"));
  EXPECT_EQ(vitrine({"usage", "--csv"}).out,
            "key,name,requests,prompt_tokens,cached_tokens,completion_tokens,cost,currency\r\n" + key_ +
                ",\"lap,top\",2,2000,1200,100,0.000024690,USD\r\n");
  const json rows = json::parse(vitrine({"usage", "--by", "day", "--json"}).out).at("rows");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0], json({{"day", "2025-03-14"},
                           {"requests", 1},
                           {"prompt_tokens", 1000},
                           {"cached_tokens", 600},
                           {"completion_tokens", 50},
                           {"total_tokens", 1050},
                           {"cost", 0.000012345},
                           {"currency", "USD"}}));
}

TEST_F(UsageCommand, DaysAndAKeyNarrowIt) {
  note(key_, "2025-03-14", 0);
  note("", "2025-03-15", 0);
  EXPECT_EQ(vitrine({"usage", "--by", "model", "--key", key_, "--csv"}).out,
            "model,requests,prompt_tokens,cached_tokens,completion_tokens,cost,currency\r\ntiny,1,1000,600,50,,\r\n");
  EXPECT_THAT(vitrine({"usage", "--from", "2025-03-15"}).out, HasSubstr("none"));
  EXPECT_THAT(vitrine({"usage", "--to", "2025-03-13"}).err, HasSubstr("nothing was used"));
  EXPECT_EQ(vitrine({"usage", "--from", "yesterday"}).exit_code, 64);
  EXPECT_EQ(vitrine({"usage", "--by", "week"}).exit_code, 64);
}

TEST_F(UsageCommand, LimitsAreSetShownAndRemoved) {
  const auto limits = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"keys", "limits", key_, "--json"});
    const RunResult result = vitrine(flags);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out).at("limits");
  };
  EXPECT_EQ(limits({}), json::object());
  EXPECT_EQ(limits({"--requests-per-minute", "60", "--models", "a,b", "--priority", "-5"}),
            json({{"requests_per_minute", 60}, {"priority", -5}, {"models", {"a", "b"}}}));
  EXPECT_THAT(vitrine({"keys", "list"}).out, HasSubstr("requests_per_minute 60, priority -5, models a b"));
  EXPECT_EQ(limits({"--requests-per-minute", "none", "--priority", "0", "--models", "all"}), json::object());
  EXPECT_EQ(vitrine({"keys", "limits", key_}).out, "no limits\n");
  EXPECT_EQ(vitrine({"keys", "limits", key_, "--tokens-per-day", "many"}).exit_code, 64);
  EXPECT_EQ(vitrine({"keys", "limits", key_, "--tokens-per-day", "-1"}).exit_code, 64);
  EXPECT_EQ(vitrine({"keys", "limits", "00000000"}).exit_code, 66);
  const RunResult made = vitrine({"keys", "create", "phone", "--max-concurrent", "2", "--json"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(vitrine({"keys", "list"}).out, HasSubstr("max_concurrent 2"));
}

TEST_F(UsageCommand, AWrongPriceTableEndsTheServerBeforeAnythingIsLoaded) {
  const RunResult result = vitrine({"serve", "/no/such/model.gguf", "--prices", "/no/such/prices.toml"});
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_THAT(result.err, HasSubstr("prices.toml"));
}

}  // namespace
}  // namespace vitrine::testing
