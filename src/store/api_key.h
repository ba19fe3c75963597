#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace vitrine::store {

// An API key as its owner holds it: "sk-" ID "-" SECRET "-" CHECKSUM. The id is public; the secret is 256 bits of the
// operating system's randomness; the checksum lets a typing mistake be told from a key that does not exist.
struct ApiKey {
  static constexpr std::string_view kPrefix = "sk-";
  static constexpr std::size_t kIdLength = 8;        // of 0-9a-z
  static constexpr std::size_t kSecretLength = 43;   // of 0-9A-Za-z: 62^43 is just over 2^256
  static constexpr std::size_t kChecksumLength = 4;  // the same characters
  static constexpr std::size_t kTextLength = 3 + kIdLength + 1 + kSecretLength + 1 + kChecksumLength;

  std::string id;
  std::string secret;

  std::string text() const;
  // The end of the text, by which a list shows which key it means.
  std::string last_characters() const;
};

std::string make_key_id();
// A new secret for an id.
ApiKey make_api_key(std::string id);
// The error says what is wrong with the text and repeats nothing of it.
base::Result<ApiKey> parse_api_key(std::string_view text);

}  // namespace vitrine::store
