#pragma once

#include <deque>
#include <map>

#include "engine/sequence.h"

namespace vitrine::engine {

// Who writes to each timeline. The choices of one request share one: the first that has not ended writes, so that spans
// follow each other from the first row to the last, however many choices there are. Owned by the engine thread.
class TimelineWriters {
 public:
  // Those without a timeline are not noted.
  void enter(Sequence& sequence);
  // It writes no more; the next one goes on where it stopped.
  void leave(const Sequence& sequence);

 private:
  std::map<const trace::Timeline*, std::deque<Sequence*>> by_timeline_;
};

}  // namespace vitrine::engine
