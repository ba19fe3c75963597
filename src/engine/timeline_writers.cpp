#include "engine/timeline_writers.h"

#include <algorithm>

namespace vitrine::engine {

void TimelineWriters::enter(Sequence& sequence) {
  const trace::Timeline* timeline = sequence.clock.timeline();
  if (timeline == nullptr) return;
  std::deque<Sequence*>& all = by_timeline_[timeline];
  if (all.empty()) sequence.clock.write_from(sequence.clock.last_charge());
  all.push_back(&sequence);
}

void TimelineWriters::leave(const Sequence& sequence) {
  const auto found = by_timeline_.find(sequence.clock.timeline());
  if (found == by_timeline_.end()) return;
  std::deque<Sequence*>& all = found->second;
  const bool has_written = all.front() == &sequence;
  std::erase(all, &sequence);
  if (all.empty()) {
    by_timeline_.erase(found);
  } else if (has_written) {
    all.front()->clock.write_from(sequence.clock.last_charge());
  }
}

}  // namespace vitrine::engine
