#include "vitrine/forward_trace.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include <fmt/format.h>

namespace vitrine::cli {
namespace {

using trace::Stage;

constexpr std::string_view kHidden = "hidden_";

// Which hidden values these are: 0 as they enter the first layer, n + 1 after layer n.
std::optional<std::size_t> hidden_idx(std::string_view name) {
  if (!name.starts_with(kHidden)) return std::nullopt;
  std::size_t idx = 0;
  std::from_chars(name.data() + kHidden.size(), name.data() + name.size(), idx);
  return idx;
}

std::string_view part_name(std::string_view values_name) {
  if (values_name == "embedding") return "embed";
  return values_name == "final_norm" ? "final_norm" : "head";
}

struct Pass {
  trace::SpanId id;
  trace::Interval time;
};

std::vector<Pass> passes_of(const trace::Timeline& timeline) {
  std::vector<Pass> passes;
  const auto spans = timeline.spans();
  for (std::uint32_t i = 0; i < spans.size(); ++i) {
    const bool is_pass = spans[i].stage == Stage::kPrefill || spans[i].stage == Stage::kDecode;
    if (is_pass) passes.push_back({{i}, spans[i].time});
  }
  return passes;
}

}  // namespace

void ForwardTrace::on_values(std::string_view name, std::span<const float> values, std::size_t width) {
  const std::int64_t now_ns = timeline_.now_ns();
  const trace::Interval time{last_ns_, now_ns};
  const auto hidden = hidden_idx(name);
  const std::size_t num_rows = values.size() / width;
  if (!hidden) {
    parts_.push_back({part_name(name), Stage::kOp, 0, num_rows, width, time});
  } else if (*hidden > 0) {
    parts_.push_back({"layer", Stage::kLayer, *hidden - 1, num_rows, width, time});
  }
  last_ns_ = timeline_.now_ns();
}

void ForwardTrace::add_spans(trace::Timeline& timeline) const {
  const std::vector<Pass> passes = passes_of(timeline);
  std::size_t pass_idx = 0;
  for (const Part& part : parts_) {
    while (pass_idx < passes.size() && passes[pass_idx].time.end_ns < part.time.end_ns)
      ++pass_idx;
    if (pass_idx == passes.size()) return;
    const Pass& pass = passes[pass_idx];
    // Nothing shows the moment at which a pass begins, but the span around it does.
    const trace::Interval time{std::max(part.time.start_ns, pass.time.start_ns), part.time.end_ns};
    const trace::SpanId id = timeline.record(part.stage, time, pass.id, part.name);
    if (part.stage == Stage::kLayer) timeline.annotate(id, "layer", trace::size_attribute(part.layer_idx));
    timeline.annotate(id, "shape", fmt::format("[{}, {}]", part.num_rows, part.width));
    timeline.annotate(id, "bytes", trace::size_attribute(part.num_rows * part.width * sizeof(float)));
  }
}

}  // namespace vitrine::cli
