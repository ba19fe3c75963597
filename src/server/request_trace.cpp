#include "server/request_trace.h"

#include <algorithm>
#include <utility>

namespace vitrine::server {

trace::Timeline RequestTrace::whole() const {
  trace::Timeline whole = timeline_;
  if (engine_side_->has_ended) whole.add(engine_side_->timeline);
  return whole;
}

void TraceStore::add(Entry entry) {
  entries_.push_back(std::move(entry));
  if (entries_.size() > kMaxTraces) entries_.pop_front();
}

const TraceStore::Entry* TraceStore::find(const std::string& id) const {
  const auto found = std::ranges::find(entries_, id, &Entry::id);
  return found != entries_.end() ? &*found : nullptr;
}

}  // namespace vitrine::server
