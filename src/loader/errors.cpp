#include "loader/errors.h"

#include <fmt/format.h>

namespace vitrine::loader {

void fail(std::string message) {
  throw base::Exception(base::bad_file(std::move(message)));
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMaxBytes = 80;
  std::string result = "\"";
  for (const char c : text.substr(0, kMaxBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F || c == '"' || c == '\\') {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + (text.size() > kMaxBytes ? "...\"" : "\"");
}

base::Error with_path(const std::filesystem::path& path, const base::Error& error) {
  return {error.kind, path.string() + ": " + error.message};
}

}  // namespace vitrine::loader
