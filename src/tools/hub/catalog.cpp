#include "tools/hub/catalog.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "tools/hub/model_name.h"
#include "tools/hub/named_rows.h"
#include "tools/hub/sha256.h"

namespace vitrine::hub {
namespace {

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

}  // namespace

base::Result<std::vector<CatalogEntry>> parse_catalog(std::string_view text) {
  return read_named_rows(text, "catalog", "model", entry_from, fault_of);
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
