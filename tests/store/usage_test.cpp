#include <unistd.h>

#include <array>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"
#include "base/unix_time.h"
#include "base/utc_date.h"
#include "store/key_store.h"
#include "store/usage_json.h"
#include "store/usage_ledger.h"
#include "support/random_seed.h"
#include "support/run_and_kill.h"
#include "support/soak.h"
#include "support/temp_dir.h"

namespace vitrine::store {
namespace {

using ::testing::HasSubstr;

UsageRow row(std::string key_id, const char* day, std::string model = "tiny") {
  UsageRow all;
  all.time_s = *base::parse_day(day) * base::kSecondsPerDay + 100;
  all.key_id = std::move(key_id);
  all.request_id = "req-1";
  all.model = std::move(model);
  all.endpoint = "/v1/completions";
  all.prompt_tokens = 10;
  all.cached_tokens = 4;
  all.completion_tokens = 5;
  all.outcome = "stop";
  all.total_s = 0.5;
  return all;
}

class Usage : public ::testing::Test {
 protected:
  // Appends the row and waits for the word of the ledger.
  static bool keep(UsageLedger& ledger, UsageRow all) {
    auto promise = std::make_shared<std::promise<bool>>();
    auto future = promise->get_future();
    ledger.append(std::move(all), [promise](bool is_kept) { promise->set_value(is_kept); });
    return future.get();
  }
  std::int64_t num_rows() const {
    const Database database = open_usage_file(temp_.path(), kPatience);
    Statement count = database.prepare("SELECT count(*) FROM usage");
    count.step();
    return count.integer(0);
  }

  testing::TempDir temp_;
};

TEST_F(Usage, OldRowsAreDeletedSomeAtATimeAndTheSumsOfDaysStay) {
  constexpr int kNumOld = 1234;  // more than are deleted at once
  {
    UsageLedger ledger(temp_.path());
    for (int i = 0; i < kNumOld; ++i)
      ledger.append(row("aaaaaaaa", "2001-02-03"), [](bool is_kept) { EXPECT_TRUE(is_kept); });
    UsageRow fresh = row("aaaaaaaa", "2001-02-03");
    fresh.time_s = base::unix_time_s();
    EXPECT_TRUE(keep(ledger, fresh));
  }
  EXPECT_EQ(num_rows(), kNumOld + 1);
  { const UsageLedger ledger(temp_.path()); }
  EXPECT_EQ(num_rows(), kNumOld + 1) << "for ever, where nothing is said";
  const UsageLedger ledger(temp_.path(), 30);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (num_rows() > 1 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(num_rows(), 1);
  const std::int64_t day = *base::parse_day("2001-02-03");
  EXPECT_EQ(UsageReport(temp_.path(), kPatience).tokens("aaaaaaaa", day, day), 15 * kNumOld);
}

TEST_F(Usage, SumsAreByKeyModelAndDay) {
  {
    UsageLedger ledger(temp_.path());
    for (const char* day : {"2025-02-28", "2025-03-01", "2025-03-01"})
      EXPECT_TRUE(keep(ledger, row("aaaaaaaa", day)));
    EXPECT_TRUE(keep(ledger, row("", "2025-03-31", "big")));
  }
  UsageReport report(temp_.path(), kPatience);
  const auto by_key = report.sums({.group = UsageGroup::kKey});
  ASSERT_EQ(by_key.size(), 2U);
  EXPECT_EQ(by_key[0].group, "");
  EXPECT_EQ(by_key[1].group, "aaaaaaaa");
  EXPECT_EQ(by_key[1].requests, 3);
  EXPECT_EQ(by_key[1].prompt_tokens, 30);
  EXPECT_EQ(by_key[1].cached_tokens, 12);
  EXPECT_EQ(by_key[1].completion_tokens, 15);
  const auto by_day = report.sums({.group = UsageGroup::kDay, .key_id = "aaaaaaaa"});
  ASSERT_EQ(by_day.size(), 2U);
  EXPECT_EQ(by_day[0].group, "2025-02-28");
  EXPECT_EQ(by_day[1].group, "2025-03-01");
  EXPECT_EQ(by_day[1].requests, 2);
  const auto march = base::parse_day("2025-03-01");
  const auto by_model =
      report.sums({.group = UsageGroup::kModel, .first_day = march, .last_day = base::parse_day("2025-03-31")});
  ASSERT_EQ(by_model.size(), 2U);
  EXPECT_EQ(by_model[0].group, "big");
  EXPECT_EQ(by_model[1].requests, 2);
  EXPECT_EQ(report.tokens("aaaaaaaa", *march, *march), 30);
  EXPECT_EQ(report.tokens("aaaaaaaa", *march - 1, *march), 45);
  EXPECT_EQ(report.tokens("bbbbbbbb", 0, *march), 0);
}

TEST_F(Usage, EachCurrencyHasASumOfItsOwn) {
  {
    UsageLedger ledger(temp_.path());
    UsageRow priced = row("aaaaaaaa", "2025-03-01");
    priced.cost_nano = 1'500'000'001;
    priced.currency = "USD";
    EXPECT_TRUE(keep(ledger, priced));
    EXPECT_TRUE(keep(ledger, row("aaaaaaaa", "2025-03-01")));
  }
  const auto json =
      usage_json(UsageReport(temp_.path(), kPatience).sums({.group = UsageGroup::kModel}), UsageGroup::kModel);
  ASSERT_EQ(json["rows"].size(), 2U);
  EXPECT_TRUE(json["rows"][0]["currency"].is_null());
  EXPECT_TRUE(json["rows"][0]["cost"].is_null());
  EXPECT_EQ(json["rows"][1]["currency"], "USD");
  EXPECT_EQ(json["rows"][1]["cost"], 1.500000001);
  EXPECT_EQ(format_cost(1'500'000'001), "1.500000001");
}

TEST_F(Usage, KeysAreNamedInAReport) {
  KeyStore keys(temp_.path());
  const std::string id = keys.create("laptop", KeyRole::kUser).info.id;
  {
    UsageLedger ledger(temp_.path());
    EXPECT_TRUE(keep(ledger, row(id, "2025-03-01")));
  }
  EXPECT_EQ(named_sums(UsageReport(temp_.path(), kPatience), keys, {})[0].name, "laptop");
}

TEST_F(Usage, WhatIsQueuedAtTheEndIsWritten) {
  {
    UsageLedger ledger(temp_.path());
    for (int i = 0; i < 100; ++i)
      ledger.append(row("", "2025-03-01"), [](bool) {});
  }
  EXPECT_EQ(num_rows(), 100);
}

TEST_F(Usage, SeveralProcessesShareALedger) {
  constexpr int kNumRows = 40;
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      bool is_kept = true;
      try {
        UsageLedger ledger(temp_.path());
        for (int j = 0; j < kNumRows; ++j)
          is_kept = keep(ledger, row("aaaaaaaa", "2025-03-01")) && is_kept;
      } catch (const std::exception&) {
        is_kept = false;
      }
      ::_exit(is_kept ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(num_rows(), 3 * kNumRows);
  EXPECT_EQ(UsageReport(temp_.path(), kPatience).sums({})[0].requests, 3 * kNumRows);
}

// Processes that all begin with a folder without a file, at one moment.
TEST_F(Usage, SeveralProcessesMakeALedgerAtOnce) {
  constexpr int kNumTrials = 30;
  constexpr int kNumProcesses = 6;
  for (int trial = 0; trial < kNumTrials; ++trial) {
    const auto folder = temp_.path() / fmt::format("{}", trial);
    std::array<int, 2> gate{};
    ASSERT_EQ(::pipe(gate.data()), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < kNumProcesses; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::close(gate[1]);
        char byte = 0;
        [[maybe_unused]] const auto end = ::read(gate[0], &byte, 1);  // the end, for all at once
        try {
          open_usage_file(folder, kPatience);
        } catch (const std::exception& exception) {
          fmt::print(stderr, "{}\n", exception.what());
          ::_exit(1);
        }
        ::_exit(0);
      }
      children.push_back(child);
    }
    ::close(gate[0]);
    ::close(gate[1]);
    for (const pid_t child : children) {
      int status = 0;
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0) << "trial " << trial;
    }
  }
}

TEST_F(Usage, ItsFileIsForItsOwnerAlone) {
  const UsageLedger ledger(temp_.path());
  for (const char* name : {"usage.db", "usage.db-wal"})
    EXPECT_EQ(std::filesystem::status(temp_.path() / name).permissions(), std::filesystem::perms(0600)) << name;
}

TEST_F(Usage, ADamagedFileIsAnErrorAndStaysAsItIs) {
  { const UsageLedger ledger(temp_.path()); }
  const auto path = usage_path(temp_.path());
  std::filesystem::resize_file(path, 0);
  std::filesystem::resize_file(path, 4096);
  try {
    const UsageLedger ledger(temp_.path());
    FAIL() << "opened";
  } catch (const base::Exception& error) {
    EXPECT_EQ(error.error().kind, base::ErrorKind::kIo);
    EXPECT_THAT(error.what(), HasSubstr("usage.db"));
  }
  EXPECT_EQ(std::filesystem::file_size(path), 4096U);
}

TEST_F(Usage, ARowThatCantBeWrittenIsSaidSo) {
  UsageLedger ledger(temp_.path());
  Database(usage_path(temp_.path()), kPatience).execute("DROP TABLE totals");
  EXPECT_FALSE(keep(ledger, row("", "2025-03-01")));
  EXPECT_EQ(num_rows(), 0) << "all of a row or nothing";
}

// Many threads append until the process is killed, and say on the pipe which rows were kept.
[[noreturn]] void append_rows(const std::filesystem::path& folder, int pipe) {
  try {
    UsageLedger ledger(folder);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (int j = 0;; ++j) {
          std::promise<bool> promise;
          UsageRow all = row(fmt::format("{}", i), "2025-03-01");
          all.request_id = fmt::format("{}-{}-{}", ::getpid(), i, j);
          const std::string line = all.request_id + "\n";
          ledger.append(std::move(all), [&promise](bool is_kept) { promise.set_value(is_kept); });
          if (!promise.get_future().get() || ::write(pipe, line.data(), line.size()) < 0) ::_exit(1);
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
  } catch (const std::exception&) {
  }
  ::_exit(1);
}

TEST_F(Usage, NoAcknowledgedRowIsLostToAKillAndSumsAgreeWithRows) {
  const unsigned seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::int64_t num_told = 0;
  for (int round = 0; round < testing::soak_count(20, 200); ++round) {
    const std::string told = testing::run_and_kill([&](int told_to) { append_rows(temp_.path(), told_to); },
                                                   std::chrono::microseconds(random() % 80'000));
    const Database database = open_usage_file(temp_.path(), kPatience);
    Statement find = database.prepare("SELECT count(*) FROM usage WHERE request_id = ?");
    for (std::size_t at = 0, end = told.find('\n'); end != std::string::npos; end = told.find('\n', at)) {
      find.bind(1, told.substr(at, end - at)).step();
      EXPECT_EQ(find.integer(0), 1) << told.substr(at, end - at);
      find.reset();
      at = end + 1;
      ++num_told;
    }
  }
  std::int64_t num_summed = 0;
  for (const UsageSum& sum : UsageReport(temp_.path(), kPatience).sums({}))
    num_summed += sum.requests;
  EXPECT_EQ(num_summed, num_rows());
  EXPECT_GE(num_summed, num_told);
  EXPECT_GT(num_told, 0);
}

}  // namespace
}  // namespace vitrine::store
