#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/database.h"
#include "store/key_files.h"
#include "store/key_limits.h"
#include "store/key_role.h"

namespace vitrine::store {

// What may be known of a key; its secret is not kept. Times are seconds since 1970.
struct KeyInfo {
  std::string id;
  std::string name;
  KeyRole role = KeyRole::kUser;
  std::string last_characters;  // the last four of the key's text
  std::int64_t created_s = 0;
  std::optional<std::int64_t> last_used_s = {};  // may be a minute behind
  std::optional<std::int64_t> revoked_s = {};
  KeyLimits limits = {};
};

// A key at the only moment at which its text is known.
struct NewKey {
  KeyInfo info;
  std::string text;
};

// The API keys of this machine in an SQLite file, which several processes may use at once. What a function changes is
// on the disk when it returns. Any thread. All throw base::Exception: kMissing for an unknown id, kUsage, kIo,
// kNoPermission.
class KeyStore {
 public:
  // The folder and its files are made where they are not there yet.
  explicit KeyStore(const std::filesystem::path& folder);

  // `name` is for people; two keys may share one.
  NewKey create(const std::string& name, KeyRole role, const LimitChanges& limits = {});
  std::vector<KeyInfo> list();
  // A new secret for the key; the one before is dead from then on.
  NewKey rotate(const std::string& id);
  // The key is dead from then on, for ever. Of a key that is dead already: when that happened.
  KeyInfo revoke(const std::string& id);
  // Answers with all limits that the key has then. A running server keeps to them from the next request on.
  KeyLimits change_limits(const std::string& id, const LimitChanges& changes);
  // When keys were used last, by id.
  void record_uses(const std::map<std::string, std::int64_t>& times_s);

  const KeyFiles& files() const { return files_; }
  const Pepper& pepper() const { return pepper_; }

 private:
  KeyInfo find(const std::string& id) const;
  NewKey add_secret(KeyInfo info) const;

  KeyFiles files_;
  Pepper pepper_;
  std::mutex mutex_;
  Database database_;
};

}  // namespace vitrine::store
