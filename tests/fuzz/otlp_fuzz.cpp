// Any text as what a client says of its trace, and as the variables and flags that say where spans go: ids that can be
// passed on, spans that are JSON, headers that can be sent; or a refusal that names the variable.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/result.h"
#include "base/utf8.h"
#include "tools/otlp/otlp_settings.h"
#include "trace/otlp.h"

namespace {

using namespace vitrine;

bool is_id(std::string_view id, std::size_t length) {
  return id.size() == length && id.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         id.find_first_not_of('0') != std::string_view::npos;
}

void pass_on(std::string_view header) {
  const auto parent = trace::parse_traceparent(header);
  if (parent) VT_CHECK(is_id(parent->trace_id, 32) && is_id(parent->span_id, 16), "ids that are none");
  trace::ExportSpan span;
  span.trace_id = parent ? parent->trace_id : std::string(32, '1');
  span.trace_state = span.name = std::string(header);
  span.attributes = {{std::string(header), std::string(header)}};
  const std::string json = trace::otlp_json(span.attributes, {&span, 1});
  VT_CHECK(base::is_valid_utf8(json) && nlohmann::json::accept(json), "spans that are no JSON");
}

// A variable whose text the process keeps in one place, however often it is set.
class Variable {
 public:
  explicit Variable(std::string_view name) : size_(name.size() + 1) {
    std::copy(name.begin(), name.end(), text_.begin());
    text_[name.size()] = '=';
    ::putenv(text_.data());
  }
  void set(std::string_view value) {
    const std::size_t size = std::min(value.size(), text_.size() - size_ - 1);
    std::copy_n(value.begin(), size, text_.begin() + static_cast<std::ptrdiff_t>(size_));
    text_[size_ + size] = '\0';
  }

 private:
  std::array<char, 512> text_{};
  std::size_t size_;
};

void check_settings(const base::Result<std::optional<otlp::OtlpSettings>>& settings) {
  if (!settings) {
    VT_CHECK(settings.error().message.starts_with("OTEL_") || settings.error().message.starts_with("--otlp-"),
             "a refusal that does not say of what");
    return;
  }
  if (!*settings) return;
  VT_CHECK((*settings)->url.starts_with("http"), "a place that is none");
  for (const std::string& header : (*settings)->headers) {
    VT_CHECK(header.find(':') != std::string::npos, "a header without its name");
    VT_CHECK(header.find_first_of(std::string("\r\n\0", 3)) == std::string::npos, "a header that holds another");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::array<Variable, 4> variables = {
      Variable("OTEL_EXPORTER_OTLP_ENDPOINT"), Variable("OTEL_EXPORTER_OTLP_HEADERS"),
      Variable("OTEL_RESOURCE_ATTRIBUTES"), Variable("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")};
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  pass_on(rest);
  otlp::OtlpFlags flags;
  for (Variable& variable : variables) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    variable.set(line);
    if (&variable == &variables[1] && !line.empty()) flags.headers.emplace_back(line);
  }
  check_settings(otlp::read_otlp_settings({}, "1"));
  flags.endpoint = "http://localhost:4318";
  check_settings(otlp::read_otlp_settings(flags, "1"));
  return 0;
}
