#include "server/request_spans.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/random.h"

namespace vitrine::server {
namespace {

using trace::ExportAttribute;
using trace::ExportSpan;
using trace::ExportValue;
using trace::Span;
using trace::Stage;

constexpr std::size_t kMaxChildren = 128;
constexpr std::size_t kMaxTraceStateBytes = 512;  // more need not be passed on

std::string operation_of(std::string_view route) {
  if (route.ends_with("/chat/completions")) return "chat";
  return route.ends_with("/embeddings") ? "embeddings" : "text_completion";
}

std::int64_t as_int(std::size_t value) {
  return static_cast<std::int64_t>(value);
}

double as_seconds(std::int64_t time_ns) {
  return static_cast<double>(time_ns) * 1e-9;
}

// The wall clock's reading at the start of a timeline.
std::int64_t unix_start_ns(const trace::Timeline& timeline) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - timeline.now_ns();
}

std::string join(std::string_view prefix, std::string_view name) {
  return std::string(prefix) + std::string(name);
}

void add_request(std::vector<ExportAttribute>& attributes, const AskedFor& asked, const std::string& operation) {
  const auto add = [&](const char* key, ExportValue value) { attributes.push_back({key, std::move(value)}); };
  if (operation == "embeddings") return;
  const sampling::SamplingParams& sampling = asked.sampling;
  add("gen_ai.output.type", std::string("text"));
  add("gen_ai.request.temperature", static_cast<double>(sampling.temperature));
  add("gen_ai.request.top_p", static_cast<double>(sampling.top_p));
  if (sampling.top_k > 0) add("gen_ai.request.top_k", static_cast<double>(sampling.top_k));
  add("gen_ai.request.frequency_penalty", static_cast<double>(sampling.frequency_penalty));
  add("gen_ai.request.presence_penalty", static_cast<double>(sampling.presence_penalty));
  if (sampling.seed) add("gen_ai.request.seed", static_cast<std::int64_t>(*sampling.seed));
  if (asked.max_tokens) add("gen_ai.request.max_tokens", as_int(*asked.max_tokens));
  if (asked.num_choices != 1) add("gen_ai.request.choice.count", as_int(asked.num_choices));
  add("gen_ai.request.stream", asked.is_streamed);
}

void add_answer(std::vector<ExportAttribute>& attributes, const TraceStore::Entry& entry, const std::string& operation,
                bool is_streamed) {
  const auto add = [&](const char* key, ExportValue value) { attributes.push_back({key, std::move(value)}); };
  add("gen_ai.response.model", entry.model);
  add("gen_ai.usage.input_tokens", as_int(entry.usage.prompt_tokens));
  add("gen_ai.usage.cache_read.input_tokens", as_int(entry.usage.cached_tokens));
  if (operation == "embeddings") return;
  std::vector<std::string> reasons;
  for (const engine::FinishReason reason : entry.finish_reasons)
    reasons.emplace_back(engine::finish_reason_name(reason));
  add("gen_ai.usage.output_tokens", as_int(entry.usage.completion_tokens));
  add("gen_ai.response.finish_reasons", std::move(reasons));
  if (entry.ttft_s()) add("vitrine.time_to_first_token", *entry.ttft_s());
  if (entry.ttft_s() && is_streamed) add("gen_ai.response.time_to_first_chunk", *entry.ttft_s());
}

void add_http(std::vector<ExportAttribute>& attributes, const Exchange& exchange) {
  const auto add = [&](const char* key, ExportValue value) { attributes.push_back({key, std::move(value)}); };
  add("http.request.method", exchange.request().method);
  add("http.route", std::string(exchange.route()));
  add("url.path", exchange.request().path);
  if (exchange.status() != 0) add("http.response.status_code", static_cast<std::int64_t>(exchange.status()));
  add("vitrine.request.id", exchange.id());
  if (exchange.grant()) add("vitrine.key.id", exchange.tenant());
}

void add_parts(std::vector<ExportAttribute>& attributes, const trace::Parts& parts) {
  for (std::size_t i = 0; i < trace::kNumStages; ++i) {
    if (parts.stage_ns[i] > 0) {
      attributes.push_back(
          {join("vitrine.parts.", trace::stage_name(static_cast<Stage>(i))), as_seconds(parts.stage_ns[i])});
    }
  }
  attributes.push_back({"vitrine.unaccounted", as_seconds(parts.unaccounted_ns())});
}

ExportSpan whole_span(const Exchange& exchange, const TraceStore::Entry& entry, const AskedFor& asked,
                      const std::string& error) {
  const std::string operation = operation_of(exchange.route());
  const std::string& model = asked.model.empty() ? entry.model : asked.model;
  ExportSpan span;
  span.span_id = base::random_hex(8);
  span.name = operation + " " + model;
  span.kind = trace::ExportKind::kServer;
  span.is_error = !error.empty();
  span.attributes = {{"gen_ai.operation.name", operation},
                     {"gen_ai.provider.name", std::string("vitrine")},
                     {"gen_ai.system", std::string("vitrine")},  // its name before version 1.37
                     {"gen_ai.request.model", model}};
  add_request(span.attributes, asked, operation);
  add_answer(span.attributes, entry, operation, asked.is_streamed);
  add_http(span.attributes, exchange);
  if (span.is_error) span.attributes.push_back({"error.type", error});
  add_parts(span.attributes, entry.trace->parts());
  return span;
}

// The spans of a request below the whole.
class Children {
 public:
  explicit Children(const RequestTrace& trace) : trace_(trace) {}

  std::vector<ExportSpan> make() {
    const trace::Timeline& engine = trace_.engine_part();
    const std::int64_t offset_ns = trace_.server_part().ns_at(engine.start());
    add_engine(engine, offset_ns);
    if (!engine.spans().empty()) {
      busy_ = {engine.spans().front().time.start_ns + offset_ns, engine.wall_ns() + offset_ns};
    }
    add_server(trace_.server_part());
    std::ranges::stable_sort(spans_, {}, &ExportSpan::start_unix_ns);
    return std::move(spans_);
  }

 private:
  void add(std::string_view name, Stage stage, trace::Interval time, std::vector<ExportAttribute> attributes) {
    if (spans_.size() >= kMaxChildren || time.end_ns <= time.start_ns) return;
    ExportSpan span;
    span.name = std::string(name);
    span.start_unix_ns = time.start_ns;
    span.end_unix_ns = time.end_ns;
    span.attributes = std::move(attributes);
    span.attributes.push_back({"vitrine.stage", std::string(trace::stage_name(stage))});
    spans_.push_back(std::move(span));
  }

  static std::vector<ExportAttribute> attributes_of(const trace::Timeline& timeline, std::size_t index) {
    std::vector<ExportAttribute> attributes;
    for (const trace::Attribute& attribute : timeline.attributes()) {
      if (attribute.span.index != index) continue;
      std::visit(
          [&](const auto& value) {
            attributes.push_back({join("vitrine.", attribute.key), value});
          },
          attribute.value);
    }
    return attributes;
  }

  // Waits, lookups and chunks of the prompt as they are; all that makes the answer in one.
  void add_engine(const trace::Timeline& engine, std::int64_t offset_ns) {
    trace::Interval decode{0, 0};
    for (std::size_t i = 0; i < engine.spans().size(); ++i) {
      const Span& span = engine.spans()[i];
      const trace::Interval time{span.time.start_ns + offset_ns, span.time.end_ns + offset_ns};
      const bool is_own = span.stage == Stage::kQueue || span.stage == Stage::kLookup || span.stage == Stage::kPrefill;
      if (is_own) add(span.name, span.stage, time, attributes_of(engine, i));
      if (span.stage != Stage::kDecode) continue;
      if (decode.end_ns == 0) decode.start_ns = time.start_ns;
      decode.end_ns = time.end_ns;
    }
    add("decode", Stage::kDecode, decode,
        {{"vitrine.decode.computing", as_seconds(engine.stage_ns(Stage::kDecode))},
         {"vitrine.decode.sampling", as_seconds(engine.stage_ns(Stage::kSample))}});
  }

  // What the server did before the engine had it and after.
  void add_server(const trace::Timeline& server) {
    for (const Span& span : server.spans()) {
      const bool is_beside = span.time.start_ns >= busy_.start_ns && span.time.end_ns <= busy_.end_ns;
      if (span.parent == trace::SpanId{} && !is_beside) add(span.name, span.stage, span.time, {});
    }
  }

  const RequestTrace& trace_;
  trace::Interval busy_{0, 0};
  std::vector<ExportSpan> spans_;
};

}  // namespace

std::vector<ExportSpan> request_spans(const Exchange& exchange, const TraceStore::Entry& entry, const AskedFor& asked,
                                      const std::string& error) {
  const auto parent = trace::parse_traceparent(exchange.request().header("traceparent"));
  if (parent && !parent->is_sampled) return {};
  const std::string_view state = exchange.request().header("tracestate");
  ExportSpan whole = whole_span(exchange, entry, asked, error);
  whole.end_unix_ns = entry.trace->server_part().wall_ns();
  whole.parent_span_id = parent ? parent->span_id : "";
  std::vector<ExportSpan> spans = Children(*entry.trace).make();
  for (ExportSpan& span : spans) {
    span.span_id = base::random_hex(8);
    span.parent_span_id = whole.span_id;
  }
  spans.insert(spans.begin(), std::move(whole));
  const std::string trace_id = parent ? parent->trace_id : base::random_hex(16);
  const std::int64_t start_ns = unix_start_ns(entry.trace->server_part());
  for (ExportSpan& span : spans) {
    span.trace_id = trace_id;
    if (parent && state.size() <= kMaxTraceStateBytes) span.trace_state = std::string(state);
    span.start_unix_ns += start_ns;
    span.end_unix_ns += start_ns;
  }
  return spans;
}

}  // namespace vitrine::server
