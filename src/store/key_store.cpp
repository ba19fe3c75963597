#include "store/key_store.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"
#include "base/unix_time.h"
#include "store/api_key.h"

namespace vitrine::store {
namespace {

constexpr std::size_t kMaxKeyNameBytes = 100;
constexpr std::int64_t kNumKeptSecrets = 16;  // of one key, the retired ones among them

constexpr std::string_view kSelectInfo =
    "SELECT keys.id, name, role, last_characters, keys.created, last_used, revoked "
    "FROM keys JOIN secrets ON secrets.key_id = keys.id AND retired IS NULL LEFT JOIN uses ON uses.key_id = keys.id ";

KeyInfo read_info(const Statement& row) {
  return {.id = row.text(0),
          .name = row.text(1),
          .role = role_of_number(row.integer(2)),
          .last_characters = row.text(3),
          .created_s = row.integer(4),
          .last_used_s = row.integer_or_null(5),
          .revoked_s = row.integer_or_null(6)};
}

void check_name(const std::string& name) {
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7F; };
  if (name.empty() || name.size() > kMaxKeyNameBytes || std::ranges::any_of(name, is_control)) {
    throw base::Exception(base::ErrorKind::kUsage,
                          fmt::format("NAME: give 1 to {} bytes without control characters", kMaxKeyNameBytes));
  }
}

}  // namespace

KeyStore::KeyStore(const std::filesystem::path& folder)
    : files_{folder}, pepper_(open_key_files(files_)), database_(files_.database(), kPatience) {}

NewKey KeyStore::create(const std::string& name, KeyRole role, const LimitChanges& limits) {
  check_name(name);
  const std::scoped_lock lock(mutex_);
  KeyInfo info{
      .id = make_key_id(), .name = name, .role = role, .last_characters = {}, .created_s = base::unix_time_s()};
  info.limits = changed({}, limits);
  Transaction transaction(database_);
  database_.prepare("INSERT INTO keys (id, name, role, created) VALUES (?, ?, ?, ?)")
      .bind(1, info.id)
      .bind(2, info.name)
      .bind(3, static_cast<std::int64_t>(role))
      .bind(4, info.created_s)
      .run();
  write_limits(database_, info.id, info.limits);
  NewKey key = add_secret(std::move(info));
  transaction.commit();
  return key;
}

NewKey KeyStore::add_secret(KeyInfo info) const {
  const ApiKey key = make_api_key(info.id);
  info.last_characters = key.last_characters();
  database_.prepare("INSERT INTO secrets (key_id, mac, last_characters) VALUES (?, ?, ?)")
      .bind(1, info.id)
      .bind_bytes(2, mac_of(pepper_, key.secret))
      .bind(3, info.last_characters)
      .run();
  return {std::move(info), key.text()};
}

std::vector<KeyInfo> KeyStore::list() {
  const std::scoped_lock lock(mutex_);
  std::vector<KeyInfo> all;
  Statement rows = database_.prepare(std::string(kSelectInfo) + "ORDER BY keys.created, number");
  while (rows.step())
    all.push_back(read_info(rows));
  auto limits = read_limits(database_);
  for (KeyInfo& key : all)
    key.limits = std::move(limits[key.id]);
  return all;
}

KeyInfo KeyStore::find(const std::string& id) const {
  Statement row = database_.prepare(std::string(kSelectInfo) + "WHERE keys.id = ?");
  if (row.bind(1, id).step()) {
    KeyInfo info = read_info(row);
    info.limits = std::move(read_limits(database_)[id]);
    return info;
  }
  throw base::Exception(base::ErrorKind::kMissing,
                        fmt::format("{}: no key has this id; `vitrine keys list` shows those there are", id));
}

NewKey KeyStore::rotate(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  Transaction transaction(database_);
  KeyInfo info = find(id);
  if (info.revoked_s) {
    throw base::Exception(base::ErrorKind::kUsage,
                          fmt::format("{}: revoked, and stays so; make a new one with `vitrine keys create`", id));
  }
  database_.prepare("UPDATE secrets SET retired = ? WHERE key_id = ? AND retired IS NULL")
      .bind(1, base::unix_time_s())
      .bind(2, id)
      .run();
  NewKey key = add_secret(std::move(info));
  database_
      .prepare(
          "DELETE FROM secrets WHERE key_id = ?1 AND number NOT IN "
          "(SELECT number FROM secrets WHERE key_id = ?1 ORDER BY number DESC LIMIT ?2)")
      .bind(1, id)
      .bind(2, kNumKeptSecrets)
      .run();
  transaction.commit();
  return key;
}

KeyInfo KeyStore::revoke(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  Transaction transaction(database_);
  database_.prepare("UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL")
      .bind(1, base::unix_time_s())
      .bind(2, id)
      .run();
  KeyInfo info = find(id);
  transaction.commit();
  return info;
}

KeyLimits KeyStore::change_limits(const std::string& id, const LimitChanges& changes) {
  const std::scoped_lock lock(mutex_);
  Transaction transaction(database_);
  KeyLimits limits = changed(find(id).limits, changes);
  write_limits(database_, id, limits);
  transaction.commit();
  return limits;
}

void KeyStore::record_uses(const std::map<std::string, std::int64_t>& times_s) {
  const std::scoped_lock lock(mutex_);
  Transaction transaction(database_);
  Statement insert = database_.prepare(
      "INSERT INTO uses SELECT id, ?2 FROM keys WHERE id = ?1 "
      "ON CONFLICT (key_id) DO UPDATE SET last_used = max(last_used, excluded.last_used)");
  for (const auto& [id, time_s] : times_s)
    insert.bind(1, id).bind(2, time_s).run();
  transaction.commit();
}

}  // namespace vitrine::store
