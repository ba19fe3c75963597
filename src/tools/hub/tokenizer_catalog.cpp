#include "tools/hub/tokenizer_catalog.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "tools/hub/model_name.h"
#include "tools/hub/named_rows.h"
#include "tools/hub/sha256.h"

namespace vitrine::hub {
namespace {

struct Source {
  std::string_view prefix;
  PackageKind kind;
  std::string_view version_mark;
};
constexpr Source kSources[] = {
    {"npm:", PackageKind::kNpm, "@"}, {"pip:", PackageKind::kWheel, "=="}, {"pip-source:", PackageKind::kSource, "=="}};

bool read_package(const std::string& text, TokenizerEntry& entry) {
  for (const Source& source : kSources) {
    if (!text.starts_with(source.prefix)) continue;
    entry.kind = source.kind;
    entry.package = text.substr(source.prefix.size());
    return entry.package.find(source.version_mark, 1) != std::string::npos;
  }
  return false;
}

std::vector<TokenizerFile> read_files(const toml::table& row) {
  std::vector<TokenizerFile> files;
  const toml::array* list = row["files"].as_array();
  if (list == nullptr) return files;
  for (const toml::node& node : *list) {
    const toml::table* item = node.as_table();
    if (item == nullptr) continue;
    files.push_back({text_field(*item, "member"), text_field(*item, "name"), count_field(*item, "bytes"),
                     text_field(*item, "sha256")});
  }
  return files;
}

bool is_whole(const TokenizerFile& file) {
  return is_safe_relative_path(file.member) && is_model_name(file.name) && file.bytes > 0 && is_sha256_hex(file.sha256);
}

// What is wrong with an entry; empty where nothing is.
std::string_view fault_in(const TokenizerEntry& entry) {
  if (!is_model_name(entry.name)) return "name: only letters, digits, '.', '_' and '-'";
  if (entry.about.empty()) return "about: missing";
  if (entry.licence.empty()) return "licence: missing";
  if (entry.files.empty() == entry.model.empty()) return "source: give either files or model";
  if (!entry.files.empty() && entry.package.empty())
    return "package: must be npm:NAME@VERSION, pip:NAME==VERSION or pip-source:NAME==VERSION";
  if (!std::ranges::all_of(entry.files, is_whole)) return "files: each needs member, name, bytes and sha256";
  return {};
}

TokenizerEntry tokenizer_from(const toml::table& row) {
  TokenizerEntry entry;
  entry.name = text_field(row, "name");
  entry.about = text_field(row, "about");
  entry.licence = text_field(row, "licence");
  entry.notice = text_field(row, "notice");
  entry.model = text_field(row, "model");
  entry.files = read_files(row);
  if (!read_package(text_field(row, "package"), entry)) entry.package.clear();
  return entry;
}

}  // namespace

std::uint64_t TokenizerEntry::bytes() const {
  std::uint64_t sum = 0;
  for (const TokenizerFile& file : files)
    sum += file.bytes;
  return sum;
}

base::Result<std::vector<TokenizerEntry>> parse_tokenizers(std::string_view text) {
  return read_named_rows(text, "tokenizers", "tokenizer", tokenizer_from, fault_in);
}

const std::vector<TokenizerEntry>& builtin_tokenizers() {
  static const std::vector<TokenizerEntry> entries = [] {
    auto parsed = parse_tokenizers(builtin_tokenizers_toml());
    VT_CHECK(parsed.has_value(), parsed.error().message);
    return std::move(parsed).value();
  }();
  return entries;
}

const TokenizerEntry* find_tokenizer(std::string_view full_name) {
  const auto& entries = builtin_tokenizers();
  const auto found = std::ranges::find(entries, full_name, &TokenizerEntry::full_name);
  return found == entries.end() ? nullptr : &*found;
}

}  // namespace vitrine::hub
