#include "trace/otlp.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace vitrine::trace {
namespace {

using OtlpJson = nlohmann::ordered_json;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '0'; });
}

// 64-bit integers are strings in the JSON of protobuf.
OtlpJson value_json(const ExportValue& value) {
  struct Writer {
    OtlpJson operator()(bool flag) const { return {{"boolValue", flag}}; }
    OtlpJson operator()(std::int64_t number) const { return {{"intValue", std::to_string(number)}}; }
    OtlpJson operator()(double number) const { return {{"doubleValue", number}}; }
    OtlpJson operator()(const std::string& text) const { return {{"stringValue", text}}; }
    OtlpJson operator()(const std::vector<std::string>& texts) const {
      OtlpJson values = OtlpJson::array();
      for (const std::string& text : texts)
        values.push_back({{"stringValue", text}});
      OtlpJson array;
      array["arrayValue"]["values"] = std::move(values);
      return array;
    }
  };
  return std::visit(Writer{}, value);
}

OtlpJson attributes_json(std::span<const ExportAttribute> attributes) {
  OtlpJson list = OtlpJson::array();
  for (const ExportAttribute& attribute : attributes)
    list.push_back({{"key", attribute.key}, {"value", value_json(attribute.value)}});
  return list;
}

OtlpJson span_object(const ExportSpan& span) {
  constexpr int kStatusError = 2;
  OtlpJson object;
  object["traceId"] = span.trace_id;
  object["spanId"] = span.span_id;
  if (!span.trace_state.empty()) object["traceState"] = span.trace_state;
  if (!span.parent_span_id.empty()) object["parentSpanId"] = span.parent_span_id;
  object["name"] = span.name;
  object["kind"] = static_cast<int>(span.kind);
  object["startTimeUnixNano"] = std::to_string(span.start_unix_ns);
  object["endTimeUnixNano"] = std::to_string(span.end_unix_ns);
  object["attributes"] = attributes_json(span.attributes);
  if (span.is_error) object["status"]["code"] = kStatusError;
  return object;
}

}  // namespace

std::optional<TraceParent> parse_traceparent(std::string_view header) {
  // 00-TRACE-SPAN-FLAGS; later versions may add more behind another dash.
  constexpr std::size_t kLength = 55;
  if (header.size() < kLength || (header.size() > kLength && (header.starts_with("00") || header[kLength] != '-')))
    return std::nullopt;
  const std::string_view version = header.substr(0, 2);
  const std::string_view trace_id = header.substr(3, 32);
  const std::string_view span_id = header.substr(36, 16);
  const std::string_view flags = header.substr(53, 2);
  const bool has_dashes = header[2] == '-' && header[35] == '-' && header[52] == '-';
  if (!has_dashes || version == "ff" || !is_hex(version) || !is_hex(trace_id) || !is_hex(span_id) || !is_hex(flags) ||
      is_zero(trace_id) || is_zero(span_id))
    return std::nullopt;
  const char last = flags[1];
  const int digit = last <= '9' ? last - '0' : last - 'a' + 10;
  return TraceParent{std::string(trace_id), std::string(span_id), digit % 2 == 1};
}

std::string otlp_json(std::span<const ExportAttribute> resource, std::span<const ExportSpan> spans) {
  OtlpJson list = OtlpJson::array();
  for (const ExportSpan& span : spans)
    list.push_back(span_object(span));
  OtlpJson scope;
  scope["scope"]["name"] = "vitrine";
  scope["spans"] = std::move(list);
  OtlpJson one;
  one["resource"]["attributes"] = attributes_json(resource);
  one["scopeSpans"] = OtlpJson::array({std::move(scope)});
  OtlpJson request;
  request["resourceSpans"] = OtlpJson::array({std::move(one)});
  // Names of models come from clients.
  return request.dump(-1, ' ', false, OtlpJson::error_handler_t::replace);
}

}  // namespace vitrine::trace
