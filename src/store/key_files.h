#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace vitrine::store {

// 32 secret bytes that every stored code depends on. They lie in a file of their own, so that the database alone (in a
// backup, say) is no use to a thief.
using Pepper = std::array<std::uint8_t, 32>;
// HMAC-SHA256 (RFC 2104) of a text.
using Mac = std::array<std::uint8_t, 32>;

Mac mac_of(const Pepper& pepper, std::string_view text);
// In a time that does not depend on where they differ.
bool is_equal(const Mac& a, const Mac& b);

// The files behind the keys, in one folder.
struct KeyFiles {
  std::filesystem::path folder;

  std::filesystem::path database() const { return folder / "keys.db"; }
  std::filesystem::path pepper() const { return folder / "keys.pepper"; }
};

// Reads the pepper; where neither file is there yet, makes the folder (for its owner alone), the pepper and an empty
// database (mode 0600). A process that dies meanwhile leaves nothing that counts. Throws base::Exception naming the
// file: kIo where one of the two is missing or damaged, kNoPermission.
Pepper open_key_files(const KeyFiles& files);

}  // namespace vitrine::store
