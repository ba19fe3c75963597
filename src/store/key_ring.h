#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/api_key.h"
#include "store/database.h"
#include "store/key_plans.h"
#include "store/key_store.h"

namespace vitrine::store {

// What a key that was presented is allowed, as long as KeyRing::holds() says so.
struct KeyGrant {
  std::string key_id;
  KeyRole role = KeyRole::kUser;
  std::int64_t secret_number = 0;  // of the secret with which it came
  KeyLimits limits = {};           // those of its plan among them
  bool is_without_plan = false;    // it names a plan that is not there: nobody knows what it may use
};

enum class KeyVerdict {
  kValid,
  kUnknown,  // no such key, or not its secret
  kRevoked,  // the right secret of a key that was revoked
  kRotated,  // a secret that was the right one once
};

// The keys of a store in memory, to check what clients present. Follows what any process changes: refresh() sees
// whatever was committed before it began. It costs a look at SQLite's shared memory and at the file's inode, some
// microseconds, and reads all keys again only when something changed. One thread.
class KeyRing {
 public:
  // `plans`: those that keys may name. Throws base::Exception.
  explicit KeyRing(const KeyStore& store, Plans plans = {});

  // Throws base::Exception where the database can't be read or was replaced by another file; what is in memory must not
  // be trusted then.
  void refresh();

  // The others answer as of the last refresh().
  struct Check {
    KeyVerdict verdict = KeyVerdict::kUnknown;
    KeyGrant grant = {};  // where kValid
  };
  // Does the same work for an id that exists and for one that does not.
  Check check(const ApiKey& key) const;
  bool holds(const KeyGrant& grant) const;
  // Keys that are not revoked.
  std::size_t num_live() const { return num_live_; }

 private:
  struct Secret {
    std::int64_t number;
    Mac mac;
    bool is_current;
  };
  struct Key {
    KeyRole role = KeyRole::kUser;
    bool is_revoked = false;
    std::vector<Secret> secrets = {};
    KeyLimits limits = {};
    bool is_without_plan = false;
  };
  // Which file a path names.
  struct FileId {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const FileId&) const = default;
  };

  static FileId file_id(const std::string& path);
  void load();

  std::string path_;
  Pepper pepper_;
  Plans plans_;
  FileId file_;
  Database database_;
  Statement data_version_;
  std::int64_t loaded_version_ = -1;
  std::unordered_map<std::string, Key> keys_;
  std::size_t num_live_ = 0;
};

}  // namespace vitrine::store
