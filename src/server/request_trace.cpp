#include "server/request_trace.h"

#include <algorithm>

namespace vitrine::server {

void RequestTrace::finish_engine(TimePoint answered) {
  engine_timeline_->finish_at(std::max<std::int64_t>(0, engine_timeline_->ns_at(answered)));
}

std::size_t RequestTrace::size_bytes() const {
  const std::size_t num_ids = recording_.prompt.capacity() + recording_.answer.capacity();
  return timeline_.size_bytes() + engine_timeline_->size_bytes() + num_ids * sizeof(TokenId);
}

trace::Timeline RequestTrace::whole() const {
  trace::Timeline whole = timeline_;
  whole.add(*engine_timeline_);
  return whole;
}

trace::Parts RequestTrace::parts() const {
  const trace::Timeline& engine = *engine_timeline_;
  if (engine.spans().empty()) return trace::parts_of(timeline_);
  const std::int64_t offset_ns = timeline_.ns_at(engine.start());
  const trace::Interval busy{engine.spans().front().time.start_ns + offset_ns, engine.wall_ns() + offset_ns};
  trace::Parts parts = trace::parts_outside(timeline_, busy);
  for (std::size_t i = 0; i < trace::kNumStages; ++i) {
    const auto stage = static_cast<trace::Stage>(i);
    parts.add(stage, engine.stage_ns(stage));
  }
  return parts;
}

}  // namespace vitrine::server
