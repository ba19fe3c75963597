#include "tools/hub/model_name.h"

#include <algorithm>

namespace vitrine::hub {
namespace {

constexpr std::size_t kMaxNameBytes = 128;
constexpr std::size_t kMaxPathBytes = 1024;

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool is_name_char(char c) {
  return is_alnum(c) || c == '.' || c == '_' || c == '-';
}
bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

}  // namespace

bool is_model_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && is_alnum(name.front()) &&
         std::all_of(name.begin(), name.end(), is_name_char);
}

bool is_tokenizer_name(std::string_view name) {
  return name.starts_with("tok:") && is_model_name(name.substr(4));
}

std::string make_model_name(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kMaxNameBytes))
    name += is_name_char(c) ? c : '-';
  const auto first = std::find_if(name.begin(), name.end(), is_alnum);
  name.erase(name.begin(), first);
  return name.empty() ? "model" : name;
}

bool is_safe_relative_path(std::string_view path) {
  if (path.empty() || path.size() > kMaxPathBytes || std::any_of(path.begin(), path.end(), is_control)) return false;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.find('\\') != std::string_view::npos) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

std::optional<HubSpec> parse_hub_spec(std::string_view text) {
  if (!text.starts_with("hf:")) return std::nullopt;
  text.remove_prefix(3);
  const std::size_t colon = text.find(':');
  const std::string_view repo_id = text.substr(0, colon);
  const std::size_t slash = repo_id.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  HubSpec spec{std::string(repo_id.substr(0, slash)), std::string(repo_id.substr(slash + 1)), ""};
  if (!is_model_name(spec.org) || !is_model_name(spec.repo)) return std::nullopt;
  if (colon == std::string_view::npos) return spec;
  spec.file = text.substr(colon + 1);
  if (!is_safe_relative_path(spec.file)) return std::nullopt;
  return spec;
}

}  // namespace vitrine::hub
