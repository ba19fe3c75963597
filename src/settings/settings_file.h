#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::settings {

// The values of a TOML file of settings by name, each as a command line would write it: `port = 8080` is {"8080"}, an
// array has several, a table under a name has "KEY=VALUE" for each of its rows, a table of tables "NAME.KEY=VALUE" for
// each row of each, and "NAME" for one that has none. Throws base::Exception: kMissing, or
// kConfig that names file and line or setting.
std::map<std::string, std::vector<std::string>> read_settings(const std::filesystem::path& file);
// The same of a text at hand; `file` is the name that a refusal gives.
std::map<std::string, std::vector<std::string>> read_settings_text(std::string_view text,
                                                                   const std::filesystem::path& file);

}  // namespace vitrine::settings
