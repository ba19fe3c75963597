#include "tools/otlp/otlp_settings.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/hub/environment.h"

namespace vitrine::otlp {
namespace {

using hub::environment;
using Pairs = std::vector<std::pair<std::string, std::string>>;

base::Error config_error(const std::string& message) {
  return {base::ErrorKind::kConfig, message};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = static_cast<char>(c | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
    decoded += is_escape ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    if (is_escape) i += 2;
  }
  return decoded;
}

// "key=value,key2=value2", values percent-encoded, as the specification has it.
base::Result<Pairs> read_pairs(const char* variable) {
  Pairs pairs;
  const std::string all = environment(variable);
  std::string_view text = all;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (trimmed(part).empty()) continue;
    const std::size_t sign = part.find('=');
    if (sign == std::string_view::npos || trimmed(part.substr(0, sign)).empty())
      return config_error(fmt::format("{}: a part has no NAME=VALUE; write name=value,name=value", variable));
    pairs.emplace_back(percent_decoded(trimmed(part.substr(0, sign))), percent_decoded(trimmed(part.substr(sign + 1))));
  }
  return pairs;
}

bool is_header_name(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [=](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

bool is_header_value(std::string_view value) {
  return std::ranges::all_of(value,
                             [](char c) { return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F); });
}

bool is_header(std::string_view header) {
  const std::size_t colon = header.find(':');
  return colon != std::string_view::npos && is_header_name(header.substr(0, colon)) &&
         is_header_value(header.substr(colon + 1));
}

bool is_url(const std::string& url) {
  const bool is_known = url.starts_with("http://") || url.starts_with("https://");
  return is_known && url.size() > url.find("://") + 3 && is_header_value(url) && url.find(' ') == std::string::npos;
}

bool is_off() {
  return environment("OTEL_SDK_DISABLED") == "true" || environment("OTEL_TRACES_EXPORTER") == "none";
}

// Empty: none.
base::Result<std::string> environment_url() {
  if (is_off()) return std::string();
  std::string variable = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
  std::string url = environment(variable.c_str());
  if (url.empty()) {
    variable = "OTEL_EXPORTER_OTLP_ENDPOINT";
    const std::string base = environment(variable.c_str());
    url = base.empty() ? "" : traces_url(base);
  }
  if (url.empty()) return url;
  if (!is_url(url))
    return config_error(variable + ": not a URL that begins with http:// or https://; write the whole of it");
  for (const char* name : {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"}) {
    if (environment(name) != "grpc") continue;
    return config_error(fmt::format(
        "{} grpc: spans are sent as JSON over HTTP only; give {} the receiver's HTTP port and set {} to http/json, or "
        "OTEL_TRACES_EXPORTER to none",
        name, variable, name));
  }
  return url;
}

base::Result<std::vector<std::string>> environment_headers() {
  const bool has_own = !environment("OTEL_EXPORTER_OTLP_TRACES_HEADERS").empty();
  const char* variable = has_own ? "OTEL_EXPORTER_OTLP_TRACES_HEADERS" : "OTEL_EXPORTER_OTLP_HEADERS";
  const auto pairs = read_pairs(variable);
  if (!pairs) return pairs.error();
  std::vector<std::string> headers;
  for (const auto& [name, value] : *pairs) {
    headers.push_back(name + ": " + value);
    if (!is_header(headers.back()))
      return config_error(std::string(variable) + ": a part is no header; write name=value");
  }
  return headers;
}

base::Result<std::vector<trace::ExportAttribute>> resource(const std::string& version) {
  const auto pairs = read_pairs("OTEL_RESOURCE_ATTRIBUTES");
  if (!pairs) return pairs.error();
  std::string name = environment("OTEL_SERVICE_NAME");
  std::vector<trace::ExportAttribute> attributes;
  for (const auto& [key, value] : *pairs) {
    if (key == "service.name" && name.empty()) name = value;
    if (key != "service.name" && key != "service.version") attributes.push_back({key, value});
  }
  attributes.push_back({"service.name", name.empty() ? "vitrine" : name});
  attributes.push_back({"service.version", version});
  attributes.push_back({"telemetry.sdk.name", std::string("vitrine")});
  attributes.push_back({"telemetry.sdk.language", std::string("cpp")});
  return attributes;
}

base::Result<void> check_flags(const OtlpFlags& flags) {
  if (!flags.endpoint.empty() && !is_url(flags.endpoint))
    return base::usage_error("--otlp-endpoint: not a URL that begins with http:// or https://; write the whole of it");
  for (const std::string& header : flags.headers) {
    // What it says may be a secret.
    if (!is_header(header)) return base::usage_error("--otlp-header: no header; write it as 'NAME: VALUE'");
  }
  return {};
}

}  // namespace

std::string traces_url(const std::string& base) {
  const std::size_t mark = std::min(base.find('?'), base.size());
  std::string path = base.substr(0, mark);
  while (path.ends_with('/'))
    path.pop_back();
  return (path.ends_with("/traces") ? path : path + "/v1/traces") + base.substr(mark);
}

base::Result<std::optional<OtlpSettings>> read_otlp_settings(const OtlpFlags& flags, const std::string& version) {
  if (auto checked = check_flags(flags); !checked) return checked.error();
  OtlpSettings settings;
  if (!flags.endpoint.empty()) {
    settings.url = traces_url(flags.endpoint);
  } else {
    auto url = environment_url();
    if (!url) return url.error();
    settings.url = *std::move(url);
  }
  if (settings.url.empty()) {
    if (flags.headers.empty()) return std::optional<OtlpSettings>();
    return base::usage_error("--otlp-header: without --otlp-endpoint nothing is sent; give it too");
  }
  auto headers = flags.headers.empty() ? environment_headers() : base::Result<std::vector<std::string>>(flags.headers);
  if (!headers) return headers.error();
  settings.headers = *std::move(headers);
  auto attributes = resource(version);
  if (!attributes) return attributes.error();
  settings.resource = *std::move(attributes);
  return std::optional(std::move(settings));
}

}  // namespace vitrine::otlp
