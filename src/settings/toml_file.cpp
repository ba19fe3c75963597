#include "settings/toml_file.h"

#include <system_error>

#include <fmt/format.h>

namespace vitrine::settings {

base::Exception wrong_setting(const std::filesystem::path& file, const std::string& what) {
  return {base::ErrorKind::kConfig, fmt::format("{}: {}", file.string(), what)};
}

toml::table parse_toml(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    throw base::Exception(base::ErrorKind::kMissing, fmt::format("{}: no such file", file.string()));
  try {
    return toml::parse_file(file.string());
  } catch (const toml::parse_error& fault) {
    throw wrong_setting(file, fmt::format("line {}: {}", fault.source().begin.line, fault.description()));
  }
}

toml::table parse_toml_text(std::string_view text, const std::filesystem::path& file) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& fault) {
    throw wrong_setting(file, fmt::format("line {}: {}", fault.source().begin.line, fault.description()));
  }
}

}  // namespace vitrine::settings
