#include "store/key_ring.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"

namespace vitrine::store {

KeyRing::KeyRing(const KeyStore& store, Plans plans)
    : path_(store.files().database().string()),
      pepper_(store.pepper()),
      plans_(std::move(plans)),
      file_(file_id(path_)),
      database_(path_, kServingPatience),
      data_version_(database_.prepare("PRAGMA data_version")) {
  refresh();
}

KeyRing::FileId KeyRing::file_id(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

void KeyRing::refresh() {
  if (file_id(path_) != file_) {
    throw base::Exception(base::ErrorKind::kIo,
                          fmt::format("{}: taken away or replaced while in use; start the server again", path_));
  }
  data_version_.step();
  const std::int64_t version = data_version_.integer(0);
  data_version_.reset();
  if (version == loaded_version_) return;
  load();
  loaded_version_ = version;
}

void KeyRing::load() {
  std::unordered_map<std::string, Key> keys;
  Statement rows =
      database_.prepare("SELECT id, role, revoked, number, mac, retired FROM keys JOIN secrets ON key_id = id");
  while (rows.step()) {
    Key& key = keys[rows.text(0)];
    key.role = role_of_number(rows.integer(1));
    key.is_revoked = rows.integer_or_null(2).has_value();
    Secret secret{.number = rows.integer(3), .mac = {}, .is_current = !rows.integer_or_null(5)};
    const auto mac = rows.bytes(4);
    if (mac.size() != secret.mac.size())
      throw base::Exception(base::ErrorKind::kIo, fmt::format("{}: a code of the wrong size in it", path_));
    std::ranges::copy(mac, secret.mac.begin());
    key.secrets.push_back(secret);
  }
  for (const auto& [id, own] : read_limits(database_)) {
    Key& key = keys[id];
    auto effective = effective_limits(plans_, own);
    key.is_without_plan = !effective;
    key.limits = effective ? *std::move(effective) : own;
  }
  keys_ = std::move(keys);
  num_live_ =
      static_cast<std::size_t>(std::ranges::count_if(keys_, [](const auto& key) { return !key.second.is_revoked; }));
}

KeyRing::Check KeyRing::check(const ApiKey& key) const {
  static const Key kNobody{.secrets = {{.number = 0, .mac = {}, .is_current = false}}};
  const Mac mac = mac_of(pepper_, key.secret);
  const auto found = keys_.find(key.id);
  const Key& candidate = found == keys_.end() ? kNobody : found->second;
  const Secret* match = nullptr;
  for (const Secret& secret : candidate.secrets) {
    if (is_equal(secret.mac, mac)) match = &secret;
  }
  if (match == nullptr || found == keys_.end()) return {KeyVerdict::kUnknown};
  if (candidate.is_revoked) return {KeyVerdict::kRevoked};
  if (!match->is_current) return {KeyVerdict::kRotated};
  return {KeyVerdict::kValid,
          {found->first, candidate.role, match->number, candidate.limits, candidate.is_without_plan}};
}

bool KeyRing::holds(const KeyGrant& grant) const {
  const auto found = keys_.find(grant.key_id);
  if (found == keys_.end() || found->second.is_revoked) return false;
  return std::ranges::any_of(found->second.secrets, [&](const Secret& secret) {
    return secret.is_current && secret.number == grant.secret_number;
  });
}

}  // namespace vitrine::store
