#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::testing {

// The first fault of a text as XML: a tag that is not closed, or not the one that was opened; a bare & or <. Empty for
// none. Knows elements, attributes in double quotes and text: what an SVG picture of ours is made of.
inline std::string xml_fault(std::string_view text) {
  std::vector<std::string> open;
  const auto name_at = [text](std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-'))
      ++end;
    return std::string(text.substr(at, end - at));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '&' && text.substr(i, 9).find(';') == std::string_view::npos) return "a bare &";
    if (text[i] != '<') continue;
    bool is_quoted = false;
    std::size_t end = i + 1;
    for (; end < text.size() && (is_quoted || text[end] != '>'); ++end) {
      if (text[end] == '"') is_quoted = !is_quoted;
      if (text[end] == '<') return "a bare < in <" + name_at(i + 1);
    }
    if (end == text.size()) return "<" + name_at(i + 1) + " has no end";
    if (text[i + 1] == '/') {
      if (open.empty() || open.back() != name_at(i + 2)) return "</" + name_at(i + 2) + "> closes what is not open";
      open.pop_back();
    } else if (text[end - 1] != '/') {
      open.push_back(name_at(i + 1));
    }
    i = end;
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

}  // namespace vitrine::testing
