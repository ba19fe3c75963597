#include "store/usage_file.h"

#include <fcntl.h>

#include <array>

#include "store/private_file.h"

namespace vitrine::store {
namespace {

// What is not there (a key, a currency) is an empty text, so that it can be part of a primary key.
constexpr std::array kUsageUpgrades = std::to_array<const char*>({R"(
CREATE TABLE usage (number INTEGER PRIMARY KEY, time INTEGER NOT NULL, key_id TEXT NOT NULL, request_id TEXT NOT NULL,
                    model TEXT NOT NULL, endpoint TEXT NOT NULL, prompt_tokens INTEGER NOT NULL,
                    cached_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, outcome TEXT NOT NULL,
                    queue_s REAL NOT NULL, prefill_s REAL NOT NULL, decode_s REAL NOT NULL, total_s REAL NOT NULL,
                    cost_nano INTEGER NOT NULL, currency TEXT NOT NULL) STRICT;
CREATE TABLE totals (key_id TEXT NOT NULL, day INTEGER NOT NULL, model TEXT NOT NULL, currency TEXT NOT NULL,
                     requests INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
                     completion_tokens INTEGER NOT NULL, cost_nano INTEGER NOT NULL,
                     PRIMARY KEY (key_id, day, model, currency)) STRICT, WITHOUT ROWID;
)"});

}  // namespace

std::filesystem::path usage_path(const std::filesystem::path& folder) {
  return folder / "usage.db";
}

Database open_usage_file(const std::filesystem::path& folder, std::chrono::milliseconds patience) {
  const auto path = usage_path(folder);
  make_private_folder(folder);
  // SQLite doesn't wait for others where it begins to write a log: of processes that make the file all but one would
  // fail.
  const Descriptor turn(folder, O_RDONLY | O_DIRECTORY);
  turn.lock();
  if (!is_there(path))
    Descriptor(path, O_RDWR | O_CREAT).make_private();  // for its mode, which SQLite gives to the files beside it
  Database database(path, patience);
  database.execute("PRAGMA journal_mode = WAL");
  upgrade_schema(database, kUsageUpgrades);
  return database;
}

}  // namespace vitrine::store
