#include "tools/hub/tokenizer_catalog.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/check.h"
#include "tools/hub/model_name.h"
#include "tools/hub/sha256.h"

namespace vitrine::hub {
namespace {

std::string tokenizer_text(const toml::table& row, std::string_view key) {
  return row[key].value_or(std::string());
}

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
    const std::int64_t bytes = (*item)["bytes"].value_or(std::int64_t{0});
    files.push_back({tokenizer_text(*item, "member"), tokenizer_text(*item, "name"),
                     bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0, tokenizer_text(*item, "sha256")});
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
  entry.name = tokenizer_text(row, "name");
  entry.about = tokenizer_text(row, "about");
  entry.licence = tokenizer_text(row, "licence");
  entry.notice = tokenizer_text(row, "notice");
  entry.model = tokenizer_text(row, "model");
  entry.files = read_files(row);
  if (!read_package(tokenizer_text(row, "package"), entry)) entry.package.clear();
  return entry;
}

base::Error tokenizers_error(std::string message) {
  return {base::ErrorKind::kConfig, "tokenizers: " + std::move(message)};
}

}  // namespace

std::uint64_t TokenizerEntry::bytes() const {
  std::uint64_t sum = 0;
  for (const TokenizerFile& file : files)
    sum += file.bytes;
  return sum;
}

base::Result<std::vector<TokenizerEntry>> parse_tokenizers(std::string_view text) {
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return tokenizers_error(fmt::format("line {}: {}", error.source().begin.line, error.description()));
  }
  std::vector<TokenizerEntry> entries;
  std::set<std::string> names;
  const toml::array* rows = root["tokenizer"].as_array();
  if (rows == nullptr) return tokenizers_error("no [[tokenizer]] in it");
  for (const toml::node& node : *rows) {
    const toml::table* row = node.as_table();
    if (row == nullptr) return tokenizers_error("tokenizer: not a table");
    TokenizerEntry entry = tokenizer_from(*row);
    if (const auto fault = fault_in(entry); !fault.empty())
      return tokenizers_error(fmt::format("{}: {}", entry.name, fault));
    if (!names.insert(entry.name).second) return tokenizers_error(entry.name + ": listed twice");
    entries.push_back(std::move(entry));
  }
  return entries;
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
