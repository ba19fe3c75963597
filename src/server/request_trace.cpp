#include "server/request_trace.h"

#include <algorithm>

namespace vitrine::server {

void RequestTrace::count_write(std::string_view events) {
  ++streamed_.num_writes;
  streamed_.num_bytes += events.size();
  // An event ends with an empty line, and holds none.
  for (std::size_t at = events.find("\n\n"); at != std::string_view::npos; at = events.find("\n\n", at + 2))
    ++streamed_.num_events;
}

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
