#include <unistd.h>

#include <chrono>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "store/key_ring.h"
#include "store/key_store.h"
#include "support/random_seed.h"
#include "support/run_and_kill.h"
#include "support/soak.h"
#include "support/temp_dir.h"

namespace vitrine::store {
namespace {

void acknowledge(int pipe, const std::string& line) {
  if (::write(pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(1);
}

// Makes, rotates and revokes keys until it is killed, and says on the pipe what was done.
[[noreturn]] void change_keys(const std::filesystem::path& folder, int pipe) {
  try {
    KeyStore store(folder);
    for (;;) {
      const NewKey kept = store.create("kept", KeyRole::kUser);
      acknowledge(pipe, "live " + kept.text + "\n");
      const NewKey revoked = store.create("revoked", KeyRole::kUser);
      acknowledge(pipe, "any " + revoked.text + "\n");  // its end may come before it is told
      store.revoke(revoked.info.id);
      acknowledge(pipe, "dead " + revoked.text + "\n");
      acknowledge(pipe, "any " + kept.text + "\n");
      const NewKey rotated = store.rotate(kept.info.id);
      acknowledge(pipe, "dead " + kept.text + "\nlive " + rotated.text + "\n");
      store.record_uses({{kept.info.id, 5}});
    }
  } catch (const std::exception&) {
    ::_exit(1);
  }
}

TEST(Crash, NothingThatWasAcknowledgedIsLost) {
  const unsigned seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::map<std::filesystem::path, std::map<std::string, std::string>> all_fates;  // of each key, as told last
  const testing::TempDir folder;
  for (int round = 0; round < testing::soak_count(50, 200); ++round) {
    // Some rounds in a fresh folder, whose very making is cut off.
    const auto where = folder.path() / (round % 5 == 0 ? std::to_string(round) : "state");
    auto& fates = all_fates[where];
    std::string whole = testing::run_and_kill([&](int told_to) { change_keys(where, told_to); },
                                              std::chrono::microseconds(random() % 60'000));
    whole.resize(whole.rfind('\n') + 1);
    std::istringstream told(whole);
    for (std::string fate, key; told >> fate >> key;)
      fates[key] = fate;
    KeyStore store(where);
    KeyRing ring(store);
    for (const auto& [key, fate] : fates) {
      if (fate == "any") continue;
      const bool is_valid = ring.check(parse_api_key(key).value_or_throw()).verdict == KeyVerdict::kValid;
      EXPECT_EQ(is_valid, fate == "live") << "round " << round << ", " << fate;
    }
  }
}

}  // namespace
}  // namespace vitrine::store
