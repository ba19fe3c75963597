#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "trace/parts.h"
#include "trace/timeline.h"

namespace vitrine::trace {

// {spans: [{name, stage, start_s, end_s, parent, attributes{}}], stages: {name: seconds}, unaccounted_s, wall_s}.
// `parent` is an index into spans, or null; times are seconds since the timeline began. A span that is still open has
// end_s null.
nlohmann::json to_json(const Timeline& timeline);

// {name: seconds} of the stages that took any time.
nlohmann::ordered_json to_json(const Parts& parts);

// The Trace Event Format that chrome://tracing and Perfetto read: one complete event ("ph": "X") per span,
// microseconds.
std::string to_chrome_trace(const Timeline& timeline);

}  // namespace vitrine::trace
