#include "server/live_requests.h"

#include <utility>

namespace vitrine::server {

using Clock = std::chrono::steady_clock;

LiveRequests::Entry::Entry(LiveRequests& all, std::string id, std::string key_id, const Generation& generation)
    : all_(all),
      place_(all.items_.insert(
          all.items_.end(),
          {.id = std::move(id), .key_id = std::move(key_id), .generation = &generation, .began = generation.began()})) {
}

LiveRequests::Entry::~Entry() {
  all_.note_news(*place_);
  all_.items_.erase(place_);
}

const RecentActivity& LiveRequests::activity() {
  for (Item& item : items_)
    note_news(item);
  return activity_;
}

void LiveRequests::note_news(Item& item) {
  const GenerationReport& report = item.generation->report();
  const std::vector<double>& times_s = report.token_times_s;
  for (; item.num_seen < times_s.size(); ++item.num_seen) {
    const double time_s = times_s[item.num_seen];
    const auto when = item.began + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time_s));
    activity_.add_tokens(when, 1);
    ++item.num_counted;
    if (item.num_seen == 0) {
      activity_.add_first_token(when, time_s);
    } else {
      activity_.add_gap(when, time_s - times_s[item.num_seen - 1]);
    }
  }
  // Of further choices it is not known when each token came.
  if (report.usage.completion_tokens <= item.num_counted) return;
  activity_.add_tokens(Clock::now(), report.usage.completion_tokens - item.num_counted);
  item.num_counted = report.usage.completion_tokens;
}

}  // namespace vitrine::server
