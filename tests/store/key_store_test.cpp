#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"
#include "store/key_ring.h"
#include "store/key_store.h"
#include "support/temp_dir.h"

namespace vitrine::store {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Keys : public ::testing::Test {
 protected:
  fs::path folder() const { return temp_.path() / "state"; }
  fs::path file(const char* name) const { return folder() / name; }

  static ApiKey parsed(const NewKey& key) { return parse_api_key(key.text).value_or_throw(); }
  static KeyVerdict verdict(KeyRing& ring, const NewKey& key) {
    ring.refresh();
    return ring.check(parsed(key)).verdict;
  }
  // The error of opening the store; a missing kind where it opens.
  base::Error refusal() const {
    try {
      KeyStore store(folder());
      KeyRing ring(store);
    } catch (const base::Exception& exception) {
      return exception.error();
    }
    return {base::ErrorKind{}, "opened"};
  }
  void expect_refusal(base::ErrorKind kind, const std::string& text) const {
    const base::Error error = refusal();
    EXPECT_EQ(error.kind, kind) << error.message;
    EXPECT_THAT(error.message, HasSubstr(text));
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
  }

  testing::TempDir temp_;
};

TEST_F(Keys, LiveUntilRevoked) {
  KeyStore store(folder());
  KeyRing ring(store);
  EXPECT_EQ(ring.num_live(), 0U);
  const NewKey user = store.create("laptop", KeyRole::kUser);
  const NewKey admin = store.create("boss", KeyRole::kAdmin);
  EXPECT_EQ(verdict(ring, user), KeyVerdict::kValid);
  EXPECT_EQ(ring.num_live(), 2U);
  const KeyGrant grant = ring.check(parsed(admin)).grant;
  EXPECT_EQ(grant.key_id, admin.info.id);
  EXPECT_EQ(grant.role, KeyRole::kAdmin);
  EXPECT_EQ(ring.check(parsed(user)).grant.role, KeyRole::kUser);
  store.revoke(admin.info.id);
  EXPECT_EQ(verdict(ring, admin), KeyVerdict::kRevoked);
  EXPECT_FALSE(ring.holds(grant));
  EXPECT_EQ(verdict(ring, user), KeyVerdict::kValid);
  EXPECT_EQ(ring.num_live(), 1U);
}

TEST_F(Keys, ARotatedKeyLivesOnWithItsNewSecretAlone) {
  KeyStore store(folder());
  KeyRing ring(store);
  const NewKey first = store.create("laptop", KeyRole::kAdmin);
  ASSERT_EQ(verdict(ring, first), KeyVerdict::kValid);
  const KeyGrant grant = ring.check(parsed(first)).grant;
  const NewKey second = store.rotate(first.info.id);
  EXPECT_EQ(second.info.id, first.info.id);
  EXPECT_EQ(second.info.role, KeyRole::kAdmin);
  EXPECT_EQ(verdict(ring, first), KeyVerdict::kRotated);
  EXPECT_FALSE(ring.holds(grant));
  EXPECT_EQ(verdict(ring, second), KeyVerdict::kValid);
  EXPECT_EQ(store.list().size(), 1U);
  EXPECT_EQ(store.list()[0].last_characters, second.text.substr(56));
}

TEST_F(Keys, OldSecretsAreForgottenAfterSome) {
  KeyStore store(folder());
  KeyRing ring(store);
  const NewKey first = store.create("laptop", KeyRole::kUser);
  NewKey last = first;
  for (int i = 0; i < 20; ++i)
    last = store.rotate(first.info.id);
  EXPECT_EQ(verdict(ring, first), KeyVerdict::kUnknown);
  EXPECT_EQ(verdict(ring, last), KeyVerdict::kValid);
}

TEST_F(Keys, ASecretBelongsToItsIdAlone) {
  KeyStore store(folder());
  KeyRing ring(store);
  const NewKey one = store.create("one", KeyRole::kUser);
  const NewKey two = store.create("two", KeyRole::kUser);
  ring.refresh();
  EXPECT_EQ(ring.check({two.info.id, parsed(one).secret}).verdict, KeyVerdict::kUnknown);
  EXPECT_EQ(ring.check({"00000000", parsed(one).secret}).verdict, KeyVerdict::kUnknown);
  EXPECT_EQ(ring.check(make_api_key(one.info.id)).verdict, KeyVerdict::kUnknown);
}

TEST_F(Keys, WhatIsRevokedStaysRevoked) {
  KeyStore store(folder());
  const NewKey key = store.create("laptop", KeyRole::kUser);
  const auto when = store.revoke(key.info.id).revoked_s;
  ASSERT_TRUE(when);
  EXPECT_EQ(store.revoke(key.info.id).revoked_s, when);
  store.record_uses({{key.info.id, 5}});
  EXPECT_THROW(store.rotate(key.info.id), base::Exception);
  EXPECT_EQ(store.list()[0].revoked_s, when);
  KeyRing ring(store);
  EXPECT_EQ(verdict(ring, key), KeyVerdict::kRevoked);
}

TEST_F(Keys, TheLastUseIsKeptApart) {
  KeyStore store(folder());
  const NewKey key = store.create("laptop", KeyRole::kUser);
  EXPECT_FALSE(store.list()[0].last_used_s);
  store.record_uses({{key.info.id, 50}, {"nobody00", 60}});
  store.record_uses({{key.info.id, 40}});
  EXPECT_EQ(store.list()[0].last_used_s, 50);
}

TEST_F(Keys, NamesAreLabelsAndNothingElse) {
  KeyStore store(folder());
  const std::string sql = "x'); DROP TABLE keys; --";
  EXPECT_EQ(store.create(sql, KeyRole::kUser).info.name, sql);
  EXPECT_EQ(store.create("同名", KeyRole::kUser).info.name, store.create("同名", KeyRole::kUser).info.name);
  EXPECT_EQ(store.list().size(), 3U);
  for (const std::string& bad : {std::string(), std::string(101, 'x'), std::string("a\nb"), std::string("\x1b[2J")})
    EXPECT_THROW(store.create(bad, KeyRole::kUser), base::Exception) << bad;
  for (const std::string& id : {sql, std::string(), std::string("' OR '1'='1")})
    EXPECT_THROW(store.revoke(id), base::Exception) << id;
  EXPECT_EQ(store.list().size(), 3U);
}

TEST_F(Keys, NeitherKeysNorSecretsAreInTheFiles) {
  std::string text;
  {
    KeyStore store(folder());
    text = store.create("laptop", KeyRole::kUser).text;
  }
  for (const auto& entry : fs::directory_iterator(folder())) {
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string content(std::istreambuf_iterator<char>(stream), {});
    EXPECT_EQ(content.find(text.substr(12, 43)), std::string::npos) << entry.path();
  }
}

TEST_F(Keys, OnlyTheOwnerMayReadTheFiles) {
  KeyStore store(folder());
  const NewKey key = store.create("laptop", KeyRole::kUser);
  const auto mode = [](const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777U;
  };
  EXPECT_EQ(mode(folder()), 0700U);
  for (const char* name : {"keys.db", "keys.db-wal", "keys.db-shm", "keys.pepper"})
    EXPECT_EQ(mode(file(name)), 0600U) << name;
  EXPECT_FALSE(fs::exists(file("keys.pepper.new")));
}

TEST_F(Keys, AnotherProcessSeesAChangeAtOnce) {
  KeyStore store(folder());
  KeyRing ring(store);
  const NewKey key = store.create("laptop", KeyRole::kUser);
  ASSERT_EQ(verdict(ring, key), KeyVerdict::kValid);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      KeyStore(folder()).revoke(key.info.id);
    } catch (const std::exception&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(verdict(ring, key), KeyVerdict::kRevoked);
}

TEST_F(Keys, ADamagedDatabaseIsRefusedAndLeftAsItIs) {
  KeyStore(folder()).create("laptop", KeyRole::kUser);
  std::fstream stream(file("keys.db"), std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(4000);
  stream << std::string(9000, 'x');
  stream.close();
  expect_refusal(base::ErrorKind::kIo, "keys.db: damaged");
  std::ofstream(file("keys.db"), std::ios::trunc) << "no database at all, but some words that are long enough to look";
  const auto size = fs::file_size(file("keys.db"));
  expect_refusal(base::ErrorKind::kIo, "restore it from a backup");
  EXPECT_EQ(fs::file_size(file("keys.db")), size);
  std::ofstream(file("keys.db"), std::ios::trunc).close();
  expect_refusal(base::ErrorKind::kIo, "empty");
  EXPECT_EQ(fs::file_size(file("keys.db")), 0U);
}

TEST_F(Keys, HalfOfTheFilesIsNotAFreshStart) {
  KeyStore(folder()).create("laptop", KeyRole::kUser);
  fs::rename(file("keys.pepper"), file("kept"));
  expect_refusal(base::ErrorKind::kIo, "keys.pepper: missing");
  std::ofstream(file("keys.pepper")) << std::string(32, 'x');
  expect_refusal(base::ErrorKind::kIo, "belongs to another keys.db");
  std::ofstream(file("keys.pepper")) << std::string(31, 'x');
  expect_refusal(base::ErrorKind::kIo, "not 32 bytes long");
  fs::rename(file("kept"), file("keys.pepper"));
  EXPECT_EQ(refusal().message, "opened");
  fs::rename(file("keys.db"), file("kept"));
  expect_refusal(base::ErrorKind::kIo, "keys.db: missing");
  EXPECT_FALSE(fs::exists(file("keys.db")));
}

TEST_F(Keys, AnUnfinishedFirstStartIsBegunAnew) {
  fs::create_directories(folder());
  std::ofstream(file("keys.pepper.new")) << "half";
  std::ofstream(file("keys.db")) << "half";
  EXPECT_EQ(refusal().message, "opened");
  EXPECT_EQ(KeyStore(folder()).list().size(), 0U);
}

TEST_F(Keys, ManyMayOpenAFreshStoreAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { KeyStore(folder()).create("laptop", KeyRole::kUser); });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(KeyStore(folder()).list().size(), 8U);
}

TEST_F(Keys, ANewerDatabaseIsRefused) {
  { const KeyStore store(folder()); }
  Database(file("keys.db"), std::chrono::seconds(1)).execute("PRAGMA user_version = 99");
  expect_refusal(base::ErrorKind::kIo, "newer Vitrine");
}

TEST_F(Keys, WhoMayNotReadThemIsToldSo) {
  { const KeyStore store(folder()); }
  if (::geteuid() == 0) {
    fs::permissions(temp_.path(), fs::perms::all);
    ASSERT_EQ(::seteuid(65534), 0);
  } else {
    fs::permissions(folder(), fs::perms::none);
  }
  expect_refusal(base::ErrorKind::kNoPermission, "set VITRINE_STATE");
  if (::getuid() == 0) {
    ASSERT_EQ(::seteuid(0), 0);
  } else {
    fs::permissions(folder(), fs::perms::owner_all);
  }
}

TEST_F(Keys, AReplacedDatabaseIsNoLongerTrusted) {
  KeyStore store(folder());
  KeyRing ring(store);
  fs::rename(file("keys.db"), file("moved"));
  EXPECT_THROW(ring.refresh(), base::Exception);
  fs::copy_file(file("moved"), file("keys.db"));
  EXPECT_THROW(ring.refresh(), base::Exception);
}

TEST_F(Keys, WhatDoesNotFitOnTheDiskWasNeverThere) {
  KeyStore store(folder());
  const NewKey key = store.create("laptop", KeyRole::kUser);
  const pid_t child = ::fork();
  if (child == 0) {  // no file may grow any more
    int code = 0;
    try {
      KeyStore full(folder());
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit none{4096, 4096};
      ::setrlimit(RLIMIT_FSIZE, &none);
      full.create("another", KeyRole::kUser);
    } catch (const base::Exception& exception) {
      code = static_cast<int>(exception.error().kind);
    }
    ::_exit(code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(base::ErrorKind::kIo));
  EXPECT_EQ(store.list().size(), 1U);
  KeyRing ring(store);
  EXPECT_EQ(verdict(ring, key), KeyVerdict::kValid);
  EXPECT_EQ(verdict(ring, store.create("fits again", KeyRole::kUser)), KeyVerdict::kValid);
}

TEST_F(Keys, ALockedDatabaseEndsInAnError) {
  KeyStore store(folder());
  KeyRing ring(store);
  Database other(file("keys.db"), std::chrono::milliseconds(0));
  const Transaction writing(other);
  const Database impatient(file("keys.db"), std::chrono::milliseconds(10));
  try {
    const Transaction second(impatient);
    FAIL() << "two writers";
  } catch (const base::Exception& exception) {
    EXPECT_EQ(exception.error().kind, base::ErrorKind::kIo);
    EXPECT_THAT(exception.what(), HasSubstr("keeps it locked"));
  }
  EXPECT_NO_THROW(ring.refresh()) << "who reads does not wait for who writes";
}

}  // namespace
}  // namespace vitrine::store
