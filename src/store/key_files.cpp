#include "store/key_files.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"
#include "base/result.h"
#include "store/database.h"
#include "store/private_file.h"

namespace vitrine::store {
namespace {

namespace fs = std::filesystem;
using base::ErrorKind;

constexpr std::array kKeyUpgrades = std::to_array<const char*>(
    {// keys: one row a key, for ever. secrets: its current secret (retired is null) and those before. uses: apart, so
     // that noting a use can never write over a revocation. All times are seconds since 1970.
     R"(
CREATE TABLE keys (id TEXT PRIMARY KEY, name TEXT NOT NULL, is_admin INTEGER NOT NULL, created INTEGER NOT NULL,
                   revoked INTEGER) STRICT, WITHOUT ROWID;
CREATE TABLE secrets (number INTEGER PRIMARY KEY AUTOINCREMENT, key_id TEXT NOT NULL REFERENCES keys, mac BLOB NOT NULL,
                      last_characters TEXT NOT NULL, retired INTEGER) STRICT;
CREATE INDEX secrets_of_key ON secrets (key_id);
CREATE UNIQUE INDEX current_secret ON secrets (key_id) WHERE retired IS NULL;
CREATE TABLE uses (key_id TEXT PRIMARY KEY REFERENCES keys, last_used INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE pepper (proof BLOB NOT NULL) STRICT;
)",
     // limits: by their names in the API. allowed_models: those of a key that may not use all.
     R"(
CREATE TABLE limits (key_id TEXT NOT NULL REFERENCES keys, name TEXT NOT NULL, value INTEGER NOT NULL,
                     PRIMARY KEY (key_id, name)) STRICT, WITHOUT ROWID;
CREATE TABLE allowed_models (key_id TEXT NOT NULL REFERENCES keys, model TEXT NOT NULL,
                             PRIMARY KEY (key_id, model)) STRICT, WITHOUT ROWID;
)",
     // role: a number of KeyRole. User and admin are those that is_admin had.
     "ALTER TABLE keys RENAME COLUMN is_admin TO role",
     // plans: of a key that has one, its name in the server's settings.
     "CREATE TABLE plans (key_id TEXT PRIMARY KEY REFERENCES keys, plan TEXT NOT NULL) STRICT, WITHOUT ROWID"});

base::Exception lost(const fs::path& path, const fs::path& other, std::string_view why) {
  return {ErrorKind::kIo, fmt::format("{}: {}; restore it from a backup, or move {} away too to begin without keys",
                                      path.string(), why, other.filename().string())};
}

fs::path unfinished_pepper(const KeyFiles& files) {
  return files.pepper().string() + ".new";
}

Pepper read_pepper(const KeyFiles& files) {
  const Descriptor file(files.pepper(), O_RDONLY);
  std::array<std::uint8_t, std::tuple_size_v<Pepper> + 1> bytes{};
  if (file.read_some(bytes) != std::tuple_size_v<Pepper>)
    throw lost(files.pepper(), files.database(), "not 32 bytes long");
  Pepper pepper{};
  std::copy_n(bytes.begin(), pepper.size(), pepper.begin());
  return pepper;
}

void make_database(const KeyFiles& files, const Pepper& pepper) {
  for (const char* ending : {"", "-wal", "-shm"})
    ::unlink((files.database().string() + ending).c_str());
  // Made here for its mode, which SQLite gives to the files beside it as well.
  Descriptor(files.database(), O_RDWR | O_CREAT | O_EXCL).make_private();
  const Database database(files.database(), kPatience);
  database.execute("PRAGMA journal_mode = WAL");
  upgrade_schema(database, kKeyUpgrades);
  database.prepare("INSERT INTO pepper VALUES (?)").bind_bytes(1, mac_of(pepper, "pepper")).run();
}

// The pepper gets its name last: without it whatever else is there was never finished, and no key was ever made.
void make_files(const KeyFiles& files) {
  const fs::path unfinished = unfinished_pepper(files);
  const Descriptor file(unfinished, O_RDWR | O_CREAT);
  file.lock();
  if (is_there(files.pepper())) {  // another process was quicker
    ::unlink(unfinished.c_str());
    return;
  }
  Pepper pepper{};
  base::fill_random(pepper);
  file.make_private();
  file.write_all(pepper);
  file.sync();
  make_database(files, pepper);
  if (::rename(unfinished.c_str(), files.pepper().c_str()) != 0) throw file_failure(files.pepper(), errno);
  Descriptor(files.folder, O_RDONLY | O_DIRECTORY).sync();
}

// That the file is a database of ours, whole, and belongs to the pepper.
void check_database(const KeyFiles& files, const Pepper& pepper) {
  const fs::path path = files.database();
  if (::access(path.c_str(), R_OK | W_OK) != 0) {
    if (errno == ENOENT) throw lost(path, files.pepper(), "missing, though its keys.pepper is there");
    throw file_failure(path, errno);
  }
  const Database database(path, kPatience);
  if (schema_version(database) == 0) throw lost(path, files.pepper(), "empty, or not made by Vitrine");
  Statement check = database.prepare("PRAGMA quick_check(1)");
  if (!check.step() || check.text(0) != "ok") throw lost(path, files.pepper(), "damaged");
  Statement proof = database.prepare("SELECT proof FROM pepper");
  if (!proof.step() || !std::ranges::equal(proof.bytes(0), mac_of(pepper, "pepper")))
    throw lost(files.pepper(), path, "belongs to another keys.db");
}

}  // namespace

Mac mac_of(const Pepper& pepper, std::string_view text) {
  Mac mac{};
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  VT_CHECK(HMAC(EVP_sha256(), pepper.data(), static_cast<int>(pepper.size()), data, text.size(), mac.data(), nullptr) !=
               nullptr,
           "HMAC failed");
  return mac;
}

bool is_equal(const Mac& a, const Mac& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Pepper open_key_files(const KeyFiles& files) {
  make_private_folder(files.folder);
  if (!is_there(files.pepper())) {
    // Another process may finish the files between two of these looks, hence the second one at the pepper.
    const bool is_lost = is_there(files.database()) && !is_there(unfinished_pepper(files)) && !is_there(files.pepper());
    if (is_lost) throw lost(files.pepper(), files.database(), "missing, though its keys.db is there");
    make_files(files);
  }
  const Pepper pepper = read_pepper(files);
  check_database(files, pepper);
  upgrade_schema(Database(files.database(), kPatience), kKeyUpgrades);
  return pepper;
}

}  // namespace vitrine::store
