#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "base/result.h"

namespace vitrine::settings {

// The refusal of a setting (kConfig).
base::Exception wrong_setting(const std::filesystem::path& file, const std::string& what);

// A TOML file. Throws base::Exception: kMissing, or kConfig with the line.
toml::table parse_toml(const std::filesystem::path& file);
// The same of a text at hand; `file` is the name that a refusal gives.
toml::table parse_toml_text(std::string_view text, const std::filesystem::path& file);

}  // namespace vitrine::settings
