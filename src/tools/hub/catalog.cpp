#include "tools/hub/catalog.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/check.h"
#include "tools/hub/model_name.h"
#include "tools/hub/sha256.h"

namespace vitrine::hub {
namespace {

std::string text_field(const toml::table& row, std::string_view key) {
  return row[key].value_or(std::string());
}

std::uint64_t count_field(const toml::table& row, std::string_view key) {
  const std::int64_t value = row[key].value_or(std::int64_t{0});
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

std::vector<PackageFile> package_field(const toml::table& row) {
  std::vector<PackageFile> packages;
  const toml::array* list = row["packages"].as_array();
  if (list == nullptr) return packages;
  for (const toml::node& node : *list) {
    if (const toml::table* item = node.as_table()) {
      packages.push_back({text_field(*item, "package"), text_field(*item, "file"), count_field(*item, "bytes")});
    }
  }
  return packages;
}

CatalogEntry entry_from(const toml::table& row) {
  CatalogEntry entry;
  entry.name = text_field(row, "name");
  entry.about = text_field(row, "about");
  entry.licence = text_field(row, "licence");
  entry.notice = text_field(row, "notice");
  entry.num_parameters = count_field(row, "parameters");
  entry.bytes = count_field(row, "bytes");
  entry.context_length = count_field(row, "context");
  entry.sha256 = row["sha256"].value<std::string>();
  entry.packages = package_field(row);
  entry.hub = text_field(row, "hub");
  return entry;
}

bool is_complete(const PackageFile& part) {
  return part.package.find("==") != std::string::npos && !part.file.empty() && part.download_bytes > 0;
}

// What is wrong with an entry; empty where nothing is.
std::string_view fault_of(const CatalogEntry& entry) {
  if (!is_model_name(entry.name)) return "name: only letters, digits, '.', '_' and '-'";
  if (entry.about.empty()) return "about: missing";
  if (entry.licence.empty()) return "licence: missing";
  if (entry.bytes == 0 || entry.num_parameters == 0 || entry.context_length == 0) {
    return "bytes, parameters, context: each must be a positive number";
  }
  if (entry.packages.empty() == entry.hub.empty()) return "source: give either packages or hub";
  if (!entry.hub.empty() && !parse_hub_spec("hf:" + entry.hub)) return "hub: not ORG/REPO[:FILE]";
  if (!std::all_of(entry.packages.begin(), entry.packages.end(), is_complete)) {
    return "packages: each needs package = NAME==VERSION, file and bytes";
  }
  if (!entry.packages.empty() && !entry.sha256) return "sha256: missing";
  if (entry.sha256 && !is_sha256_hex(*entry.sha256)) return "sha256: not 64 lower-case hexadecimal digits";
  return {};
}

base::Error config_error(std::string message) {
  return {base::ErrorKind::kConfig, "catalog: " + std::move(message)};
}

}  // namespace

base::Result<std::vector<CatalogEntry>> parse_catalog(std::string_view text) {
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return config_error(fmt::format("line {}: {}", error.source().begin.line, error.description()));
  }
  std::vector<CatalogEntry> entries;
  std::set<std::string> names;
  const toml::array* rows = root["model"].as_array();
  if (rows == nullptr) return config_error("no [[model]] in it");
  for (const toml::node& node : *rows) {
    const toml::table* row = node.as_table();
    if (row == nullptr) return config_error("model: not a table");
    CatalogEntry entry = entry_from(*row);
    if (const auto fault = fault_of(entry); !fault.empty()) return config_error(entry.name + ": " + std::string(fault));
    if (!names.insert(entry.name).second) return config_error(entry.name + ": listed twice");
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<CatalogEntry> builtin_catalog() {
  auto catalog = parse_catalog(builtin_catalog_toml());
  VT_CHECK(catalog.has_value(), catalog.error().message);
  return std::move(catalog).value();
}

const CatalogEntry* find_entry(const std::vector<CatalogEntry>& catalog, std::string_view name) {
  const auto found =
      std::find_if(catalog.begin(), catalog.end(), [&](const CatalogEntry& entry) { return entry.name == name; });
  return found == catalog.end() ? nullptr : &*found;
}

std::vector<std::string> catalog_names(const std::vector<CatalogEntry>& catalog) {
  std::vector<std::string> names;
  for (const CatalogEntry& entry : catalog)
    names.push_back(entry.name);
  return names;
}

}  // namespace vitrine::hub
