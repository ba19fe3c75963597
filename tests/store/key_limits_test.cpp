#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"
#include "store/key_plans.h"
#include "store/key_ring.h"
#include "store/key_store.h"
#include "store/private_file.h"
#include "support/temp_dir.h"

namespace vitrine::store {
namespace {

using ::testing::HasSubstr;

LimitChanges change(std::string_view name, KeyLimits::Number number) {
  return {.numbers = {{find_limit_row(name), number}}};
}

// The tables as the first version made them.
constexpr const char* kFirstSchema = R"(
PRAGMA journal_mode = WAL;
CREATE TABLE keys (id TEXT PRIMARY KEY, name TEXT NOT NULL, is_admin INTEGER NOT NULL, created INTEGER NOT NULL,
                   revoked INTEGER) STRICT, WITHOUT ROWID;
CREATE TABLE secrets (number INTEGER PRIMARY KEY AUTOINCREMENT, key_id TEXT NOT NULL REFERENCES keys, mac BLOB NOT NULL,
                      last_characters TEXT NOT NULL, retired INTEGER) STRICT;
CREATE INDEX secrets_of_key ON secrets (key_id);
CREATE UNIQUE INDEX current_secret ON secrets (key_id) WHERE retired IS NULL;
CREATE TABLE uses (key_id TEXT PRIMARY KEY REFERENCES keys, last_used INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE pepper (proof BLOB NOT NULL) STRICT;
INSERT INTO keys VALUES ('aaaaaaaa', 'old', 1, 5, NULL);
PRAGMA user_version = 1;
)";

class Limits : public ::testing::Test {
 protected:
  // Puts a database of the first version with the key "aaaaaaaa" in the place of the store's own.
  ApiKey go_back_to_first_version() const {
    const KeyFiles files{temp_.path()};
    const Pepper pepper = open_key_files(files);
    for (const char* ending : {"", "-wal", "-shm"})
      std::filesystem::remove(files.database().string() + ending);
    Descriptor(files.database(), O_RDWR | O_CREAT).make_private();
    const Database database(files.database(), std::chrono::seconds(1));
    database.execute(kFirstSchema);
    database.prepare("INSERT INTO pepper VALUES (?)").bind_bytes(1, mac_of(pepper, "pepper")).run();
    ApiKey key = make_api_key("aaaaaaaa");
    database.prepare("INSERT INTO secrets (key_id, mac, last_characters) VALUES ('aaaaaaaa', ?, 'abcd')")
        .bind_bytes(1, mac_of(pepper, key.secret))
        .run();
    return key;
  }

  testing::TempDir temp_;
};

TEST_F(Limits, ADatabaseOfTheFirstVersionIsUpgradedWithAllThatIsInIt) {
  const ApiKey key = go_back_to_first_version();
  KeyStore store(temp_.path());
  KeyRing ring(store);
  EXPECT_EQ(ring.check(key).verdict, KeyVerdict::kValid);
  EXPECT_EQ(ring.check(key).grant.limits, KeyLimits{});
  EXPECT_EQ(store.list().at(0).name, "old");
  EXPECT_EQ(store.list().at(0).role, KeyRole::kAdmin);
  store.create("prometheus", KeyRole::kScrape);
  EXPECT_EQ(store.list().at(1).role, KeyRole::kScrape) << "a role that the first version did not have";
  EXPECT_EQ(store.change_limits("aaaaaaaa", change("tokens_per_day", 5)).tokens_per_day, 5);
  EXPECT_EQ(KeyStore(temp_.path()).list().at(0).limits.tokens_per_day, 5);
  EXPECT_EQ(store.change_limits("aaaaaaaa", {.plan = "free"}).plan, "free");
  EXPECT_EQ(KeyStore(temp_.path()).list().at(0).limits.plan, "free");
}

TEST_F(Limits, ADatabaseFromBeforeThePlansKeepsItsLimits) {
  const NewKey made = KeyStore(temp_.path()).create("old", KeyRole::kUser, change("tokens_per_day", 7));
  Database(temp_.path() / "keys.db", std::chrono::seconds(1)).execute("DROP TABLE plans; PRAGMA user_version = 3");
  KeyStore store(temp_.path());
  EXPECT_EQ(store.list().at(0).limits, (KeyLimits{.tokens_per_day = 7}));
  EXPECT_EQ(store.change_limits(made.info.id, {.plan = "free"}), (KeyLimits{.tokens_per_day = 7, .plan = "free"}));
  KeyRing ring(store, {{"free", {.requests_per_minute = 3}}});
  const KeyGrant grant = ring.check(parse_api_key(made.text).value_or_throw()).grant;
  EXPECT_EQ(grant.limits.requests_per_minute, 3);
  EXPECT_EQ(grant.limits.tokens_per_day, 7);
}

TEST_F(Limits, APlanSaysWhatAKeyDoesNotSayItself) {
  const Plans plans = {{"free", {.requests_per_minute = 3, .priority = -5, .models = {"small"}}}, {"any", {}}};
  const auto effective = [&](KeyLimits own) { return effective_limits(plans, std::move(own)); };
  EXPECT_EQ(effective({.tokens_per_day = 9}), (KeyLimits{.tokens_per_day = 9})) << "no plan";
  EXPECT_EQ(effective({.plan = "any"}), (KeyLimits{.plan = "any"}));
  EXPECT_EQ(effective({.requests_per_minute = 60, .models = {"large"}, .plan = "free"}),
            (KeyLimits{.requests_per_minute = 60, .priority = -5, .models = {"large"}, .plan = "free"}));
  EXPECT_EQ(effective({.plan = "gone"}), std::nullopt);
}

TEST_F(Limits, AKeyWhosePlanIsNotThereIsKnownAsOne) {
  KeyStore store(temp_.path());
  KeyRing ring(store, {{"free", {.max_concurrent = 2}}});
  const NewKey made = store.create("ci", KeyRole::kUser, {.plan = "gold"});
  const auto grant = [&] {
    ring.refresh();
    return ring.check(parse_api_key(made.text).value_or_throw()).grant;
  };
  EXPECT_TRUE(grant().is_without_plan);
  store.change_limits(made.info.id, {.plan = "free"});
  EXPECT_FALSE(grant().is_without_plan);
  EXPECT_EQ(grant().limits.max_concurrent, 2);
  store.change_limits(made.info.id, {.plan = ""});
  EXPECT_EQ(grant().limits, KeyLimits{});
  for (const char* name : {"none", "a b", "a=b", "a\n"})
    EXPECT_THROW(store.change_limits(made.info.id, {.plan = name}), base::Exception) << name;
}

TEST_F(Limits, SeveralProcessesThatUpgradeAtOnceAllFindItDone) {
  for (int round = 0; round < 10; ++round) {
    go_back_to_first_version();
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        try {
          KeyStore store(temp_.path());
          store.change_limits("aaaaaaaa", change("priority", 1));
          ::_exit(0);
        } catch (const std::exception&) {
          ::_exit(1);
        }
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(KeyStore(temp_.path()).list().at(0).limits.priority, 1);
  }
}

TEST_F(Limits, ADatabaseOfANewerVersionIsLeftAlone) {
  open_key_files({temp_.path()});
  Database(temp_.path() / "keys.db", std::chrono::seconds(1)).execute("PRAGMA user_version = 99");
  try {
    const KeyStore store(temp_.path());
    FAIL() << "opened";
  } catch (const base::Exception& error) {
    EXPECT_EQ(error.error().kind, base::ErrorKind::kIo);
    EXPECT_THAT(error.what(), HasSubstr("newer Vitrine"));
  }
}

TEST_F(Limits, ArePartOfTheKeyFromItsCreationAndFollowedByTheRing) {
  KeyStore store(temp_.path());
  KeyRing ring(store);
  LimitChanges changes = change("requests_per_minute", 60);
  changes.models = {"b", "a"};
  const NewKey made = store.create("laptop", KeyRole::kUser, changes);
  const ApiKey key = parse_api_key(made.text).value_or_throw();
  const auto limits = [&] {
    ring.refresh();
    return ring.check(key).grant.limits;
  };
  EXPECT_EQ(limits().requests_per_minute, 60);
  EXPECT_EQ(limits().models, (std::vector<std::string>{"a", "b"}));
  KeyStore other(temp_.path());
  EXPECT_EQ(other.change_limits(made.info.id, change("requests_per_minute", std::nullopt)).models.size(), 2U);
  EXPECT_EQ(limits().requests_per_minute, std::nullopt);
  store.rotate(made.info.id);
  EXPECT_EQ(store.list().at(0).limits.models.size(), 2U) << "limits belong to the key, not to its secret";
}

TEST_F(Limits, EachIsCheckedAgainstItsRangeAndNothingIsChangedByARefusal) {
  KeyStore store(temp_.path());
  const std::string id = store.create("laptop", KeyRole::kUser, change("max_concurrent", 3)).info.id;
  for (const LimitRow& row : limit_rows()) {
    for (const std::int64_t number : {row.lowest - 1, row.highest + 1, INT64_MIN, INT64_MAX}) {
      LimitChanges changes = change(row.name, number);
      changes.numbers.insert(changes.numbers.begin(), {find_limit_row("max_concurrent"), 5});
      EXPECT_THROW(store.change_limits(id, changes), base::Exception) << row.name << ' ' << number;
    }
    EXPECT_EQ(store.list().at(0).limits.max_concurrent, 3);
    for (const std::int64_t number : {row.lowest, row.highest})
      EXPECT_EQ(store.change_limits(id, change(row.name, number)).*row.number, number);
    store.change_limits(id, change("max_concurrent", 3));
  }
  EXPECT_THROW(store.change_limits(id, {.models = std::vector<std::string>{""}}), base::Exception);
  EXPECT_THROW(store.change_limits(id, {.models = std::vector<std::string>{"a\n"}}), base::Exception);
  EXPECT_THROW(store.change_limits("00000000", change("priority", 1)), base::Exception);
}

}  // namespace
}  // namespace vitrine::store
