#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vitrine::trace {

// The span of another program that a request belongs to (W3C Trace Context, header traceparent). Ids are lower-case
// hexadecimal digits, as everywhere here: 32 of a trace, 16 of a span.
struct TraceParent {
  std::string trace_id;
  std::string span_id;
  bool is_sampled = false;
};
// nullopt for what is no traceparent, which is then as good as none.
std::optional<TraceParent> parse_traceparent(std::string_view header);

using ExportValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;
struct ExportAttribute {
  std::string key;
  ExportValue value;
};

enum class ExportKind { kInternal = 1, kServer = 2 };  // as OTLP numbers them

// A span as it leaves this program: nothing in it refers to memory elsewhere.
struct ExportSpan {
  std::string trace_id;
  std::string span_id;
  std::string parent_span_id;  // empty: it is the first of its trace
  std::string trace_state;     // W3C, passed on as it came
  std::string name;
  ExportKind kind = ExportKind::kInternal;
  std::int64_t start_unix_ns = 0;
  std::int64_t end_unix_ns = 0;
  std::vector<ExportAttribute> attributes;
  bool is_error = false;
};

// An ExportTraceServiceRequest of OTLP in its JSON encoding. `resource` says whose spans they are.
std::string otlp_json(std::span<const ExportAttribute> resource, std::span<const ExportSpan> spans);

// Takes the spans of finished requests to where they are looked at.
class SpanExporter {
 public:
  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;  // no room, refused, or not taken in time
  };

  virtual ~SpanExporter() = default;
  // Those of one request. Any thread; waits for nothing, drops what there is no room for.
  virtual void offer(std::vector<ExportSpan> spans) = 0;
  virtual Counts counts() const = 0;
};

}  // namespace vitrine::trace
