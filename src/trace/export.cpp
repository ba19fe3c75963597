#include "trace/export.h"

#include <algorithm>
#include <utility>

namespace vitrine::trace {
namespace {

using nlohmann::json;

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

std::int64_t end_of(const Span& span, const Timeline& timeline) {
  return span.time.end_ns == Span::kOpen ? timeline.wall_ns() : span.time.end_ns;
}

// [spans().size()], an object for each span.
std::vector<json> attributes_by_span(const Timeline& timeline) {
  std::vector<json> objects(timeline.spans().size(), json::object());
  for (const Attribute& attribute : timeline.attributes()) {
    std::visit([&](const auto& value) { objects[attribute.span.index][std::string(attribute.key)] = value; },
               attribute.value);
  }
  return objects;
}

// The parent, unless it was beyond the timeline's capacity and is not in the list.
json parent_of(const Span& span, const Timeline& timeline) {
  if (span.parent.index >= timeline.spans().size()) return nullptr;
  return span.parent.index;
}

json span_to_json(const Span& span, const Timeline& timeline, json attributes) {
  const bool is_open = span.time.end_ns == Span::kOpen;
  return {{"name", span.name},
          {"stage", stage_name(span.stage)},
          {"start_s", seconds(span.time.start_ns)},
          {"end_s", is_open ? json(nullptr) : json(seconds(span.time.end_ns))},
          {"parent", parent_of(span, timeline)},
          {"attributes", std::move(attributes)}};
}

json stage_totals(const Timeline& timeline) {
  json totals = json::object();
  for (std::size_t i = 0; i < kNumStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    const std::int64_t total_ns = timeline.stage_ns(stage);
    if (total_ns > 0) totals[std::string(stage_name(stage))] = seconds(total_ns);
  }
  return totals;
}

}  // namespace

json to_json(const Timeline& timeline) {
  std::vector<json> attributes = attributes_by_span(timeline);
  json spans = json::array();
  for (std::size_t i = 0; i < timeline.spans().size(); ++i) {
    spans.push_back(span_to_json(timeline.spans()[i], timeline, std::move(attributes[i])));
  }
  return {{"spans", std::move(spans)},
          {"stages", stage_totals(timeline)},
          {"unaccounted_s", seconds(timeline.unaccounted_ns())},
          {"wall_s", seconds(timeline.wall_ns())}};
}

nlohmann::ordered_json to_json(const Parts& parts) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < kNumStages; ++i) {
    if (parts.stage_ns[i] > 0) stages[std::string(stage_name(static_cast<Stage>(i)))] = seconds(parts.stage_ns[i]);
  }
  return stages;
}

std::string to_chrome_trace(const Timeline& timeline) {
  std::vector<json> attributes = attributes_by_span(timeline);
  json events = json::array();
  for (std::size_t i = 0; i < timeline.spans().size(); ++i) {
    const Span& span = timeline.spans()[i];
    const std::int64_t length_ns = end_of(span, timeline) - span.time.start_ns;
    events.push_back({{"name", span.name},
                      {"cat", stage_name(span.stage)},
                      {"ph", "X"},
                      {"ts", static_cast<double>(span.time.start_ns) * 1e-3},
                      {"dur", static_cast<double>(length_ns) * 1e-3},
                      {"pid", 1},
                      {"tid", 1},
                      {"args", std::move(attributes[i])}});
  }
  const json document = {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
  // Attributes may hold bytes of a model's tokens, which need not be UTF-8.
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace vitrine::trace
