#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vitrine::hub {

// A file inside a Python package (a wheel), all of a model or a part of it.
struct PackageFile {
  std::string package;  // NAME==VERSION
  std::string file;     // path inside the wheel
  std::uint64_t download_bytes = 0;
};

// A model that is known by name. Exactly one of `packages` and `hub` is given.
struct CatalogEntry {
  std::string name;
  std::string about;  // what it is good for
  std::string licence;
  std::string notice;  // terms to show before the model is used; may be empty
  std::uint64_t num_parameters = 0;
  std::uint64_t bytes = 0;            // on disk; about, unless sha256 is given
  std::uint64_t context_length = 0;   // tokens
  std::optional<std::string> sha256;  // of the (joined) model file
  std::vector<PackageFile> packages;  // joined in this order
  std::string hub;                    // ORG/REPO[:FILE]
};

// Fails with kConfig, naming the model and the field.
base::Result<std::vector<CatalogEntry>> parse_catalog(std::string_view toml);

// The text of catalog.toml as it was when the program was built, and its models.
std::string_view builtin_catalog_toml();
std::vector<CatalogEntry> builtin_catalog();

const CatalogEntry* find_entry(const std::vector<CatalogEntry>& catalog, std::string_view name);
std::vector<std::string> catalog_names(const std::vector<CatalogEntry>& catalog);

}  // namespace vitrine::hub
