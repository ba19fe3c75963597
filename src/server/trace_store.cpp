#include "server/trace_store.h"

#include <algorithm>
#include <utility>

namespace vitrine::server {

std::size_t TraceStore::Entry::size_bytes() const {
  const std::size_t own = sizeof(Entry) + token_times_s.capacity() * sizeof(double);
  return own + (trace != nullptr ? sizeof(RequestTrace) + trace->size_bytes() : 0);
}

void TraceStore::add(Entry entry, TimePoint now) {
  recent_bytes_ += entry.size_bytes();
  recent_.push_back({std::move(entry), now});
  while (recent_.size() > kMaxTraces || (recent_bytes_ > kMaxBytes && recent_.size() > 1)) {
    Kept oldest = std::move(recent_.front());
    recent_.pop_front();
    recent_bytes_ -= oldest.entry.size_bytes();
    keep_slow(std::move(oldest), now);
  }
}

void TraceStore::keep_slow(Kept kept, TimePoint now) {
  std::erase_if(slow_, [&](const Kept& old) {
    const bool is_old = now - old.when > kSlowAge;
    if (is_old) slow_bytes_ -= old.entry.size_bytes();
    return is_old;
  });
  if (now - kept.when > kSlowAge) return;
  const double wall_s = kept.entry.trace->wall_s();
  const auto place = std::ranges::find_if(slow_, [=](const Kept& old) { return old.entry.trace->wall_s() < wall_s; });
  slow_bytes_ += kept.entry.size_bytes();
  slow_.insert(place, std::move(kept));
  while (slow_.size() > kMaxSlow || slow_bytes_ > kMaxSlowBytes) {
    slow_bytes_ -= slow_.back().entry.size_bytes();
    slow_.pop_back();
  }
}

const TraceStore::Entry* TraceStore::find(const std::string& id) const {
  for (const Ring* ring : {&recent_, &slow_}) {
    const auto found = std::ranges::find_if(*ring, [&](const Kept& kept) { return kept.entry.id == id; });
    if (found != ring->end()) return &found->entry;
  }
  return nullptr;
}

std::vector<const TraceStore::Entry*> TraceStore::newest() const {
  std::vector<const Entry*> entries;
  for (auto kept = recent_.rbegin(); kept != recent_.rend(); ++kept)
    entries.push_back(&kept->entry);
  return entries;
}

std::vector<const TraceStore::Entry*> TraceStore::slowest() const {
  std::vector<const Entry*> entries = newest();
  for (const Kept& kept : slow_)
    entries.push_back(&kept.entry);
  std::ranges::stable_sort(entries, std::greater{}, [](const Entry* entry) { return entry->trace->wall_s(); });
  return entries;
}

}  // namespace vitrine::server
