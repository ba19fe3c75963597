#include "store/api_key.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/random.h"
#include "base/sha256.h"

namespace vitrine::store {
namespace {

constexpr std::string_view kBase62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kBase36 = "0123456789abcdefghijklmnopqrstuvwxyz";

// Each character alike probable: bytes at the end, which would favour the first characters, are drawn again.
std::string random_text(std::string_view alphabet, std::size_t length) {
  const std::size_t num_fair = 256 / alphabet.size() * alphabet.size();
  std::string text;
  while (text.size() < length) {
    std::array<std::uint8_t, 64> bytes{};
    base::fill_random(bytes);
    for (const std::uint8_t byte : bytes) {
      if (byte < num_fair && text.size() < length) text += alphabet[byte % alphabet.size()];
    }
  }
  return text;
}

std::string checksum(std::string_view start) {
  base::Sha256 hash;
  hash.update(std::as_bytes(std::span(start)));
  const base::Sha256Digest digest = hash.finish();
  std::string text;
  for (std::size_t i = 0; i < ApiKey::kChecksumLength; ++i)
    text += kBase62[(digest[2 * i] * 256U + digest[2 * i + 1]) % kBase62.size()];
  return text;
}

std::string start_of(std::string_view id, std::string_view secret) {
  return fmt::format("{}{}-{}", ApiKey::kPrefix, id, secret);
}

bool is_made_of(std::string_view text, std::string_view alphabet) {
  return text.find_first_not_of(alphabet) == std::string_view::npos;
}

// What stands in a key that was copied together with something else; empty: nothing.
std::string_view stray_part(std::string_view text) {
  if (text.find_first_of("\"'`") != std::string_view::npos) return "it has quotes in it";
  if (text.find_first_of(" \t") != std::string_view::npos) return "it has a space in it";
  const auto is_odd = [](char c) { return c <= ' ' || c > '~'; };
  if (std::ranges::any_of(text, is_odd)) return "it has a character in it that no key has";
  return "";
}

}  // namespace

std::string ApiKey::text() const {
  const std::string start = start_of(id, secret);
  return start + "-" + checksum(start);
}

std::string ApiKey::last_characters() const {
  return checksum(start_of(id, secret));
}

std::string make_key_id() {
  return random_text(kBase36, ApiKey::kIdLength);
}

ApiKey make_api_key(std::string id) {
  return {std::move(id), random_text(kBase62, ApiKey::kSecretLength)};
}

base::Result<ApiKey> parse_api_key(std::string_view text) {
  if (text.empty()) return base::usage_error("it is empty");
  if (const auto stray = stray_part(text); !stray.empty()) return base::usage_error(std::string(stray));
  if (!text.starts_with(ApiKey::kPrefix)) return base::usage_error("it does not begin with sk-");
  if (text.size() != ApiKey::kTextLength) {
    return base::usage_error(
        fmt::format("it is {} characters long; a key of this server has {}", text.size(), ApiKey::kTextLength));
  }
  const std::size_t secret_at = ApiKey::kPrefix.size() + ApiKey::kIdLength + 1;
  const std::size_t checksum_at = secret_at + ApiKey::kSecretLength + 1;
  ApiKey key{std::string(text.substr(ApiKey::kPrefix.size(), ApiKey::kIdLength)),
             std::string(text.substr(secret_at, ApiKey::kSecretLength))};
  const bool is_whole = text[secret_at - 1] == '-' && text[checksum_at - 1] == '-' && is_made_of(key.id, kBase36) &&
                        is_made_of(key.secret, kBase62) && text.substr(checksum_at) == key.last_characters();
  if (!is_whole) return base::usage_error("its checksum is wrong: a character was changed on the way");
  return key;
}

}  // namespace vitrine::store
