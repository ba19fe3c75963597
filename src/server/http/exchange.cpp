#include "server/http/exchange.h"

namespace vitrine::server {

void Exchange::begin_trace() {
  trace_ = std::make_unique<RequestTrace>(head_came_);
  trace::Timeline& timeline = trace_->timeline();
  const std::int64_t body_ns = timeline.ns_at(body_came_);
  timeline.record(trace::Stage::kSocket, {0, body_ns}, {}, "read_body");
  timeline.record(trace::Stage::kOther, {body_ns, timeline.now_ns()}, {}, "admit");
}

}  // namespace vitrine::server
