#pragma once

#include <filesystem>
#include <string>

#include <toml++/toml.h>

#include "base/result.h"

namespace vitrine::store {

// The refusal of a setting (kConfig).
base::Exception wrong_setting(const std::filesystem::path& file, const std::string& what);

// A TOML file. Throws base::Exception: kMissing, or kConfig with the line.
toml::table parse_toml(const std::filesystem::path& file);

}  // namespace vitrine::store
