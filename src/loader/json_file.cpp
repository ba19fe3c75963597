#include "loader/json_file.h"

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "loader/errors.h"

namespace vitrine::loader {
namespace {

// Looks at brackets and commas outside strings, before any tree is built.
void check_limits(std::string_view text, const JsonLimits& limits) {
  std::size_t depth = 0;
  std::size_t num_values = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == '[' || c == '{' || c == ',') ++num_values;
    if (depth > limits.max_depth) fail(fmt::format("JSON is nested more than {} deep", limits.max_depth));
    if (num_values > limits.max_values) fail(fmt::format("JSON has more than {} values", limits.max_values));
  }
}

}  // namespace

nlohmann::json parse_json_object(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    fail(fmt::format("{} bytes of JSON; at most {} are allowed", text.size(), limits.max_bytes));
  }
  check_limits(text, limits);
  try {
    nlohmann::json value = nlohmann::json::parse(text);
    if (!value.is_object()) fail("JSON must be an object");
    return value;
  } catch (const nlohmann::json::parse_error& error) {
    fail(fmt::format("not valid JSON at byte {}", error.byte));
  } catch (const nlohmann::json::exception&) {
    fail("JSON contains a number that no double can hold");
  }
}

base::Result<nlohmann::json> read_json_object(const std::filesystem::path& path, const JsonLimits& limits) {
  auto file = base::MappedFile::open(path);
  if (!file) return file.error();
  const auto bytes = file->bytes();
  return catch_errors(path, [&] {
    return parse_json_object({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, limits);
  });
}

}  // namespace vitrine::loader
