#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <string>

#include "server/generation.h"
#include "server/recent_activity.h"

namespace vitrine::server {

// The completion requests that are being answered, for people to look at, and what they gave of late. Used on the
// thread of the sockets.
class LiveRequests {
 public:
  struct Item {
    std::string id;      // x-request-id
    std::string key_id;  // empty: no key was needed
    const Generation* generation = nullptr;
    std::chrono::steady_clock::time_point began;
    std::size_t num_seen = 0;     // of the first choice's tokens: those that the activity knows of
    std::size_t num_counted = 0;  // of the tokens of all choices
  };

  // Its request is shown as long as this lives; both must be gone before the LiveRequests.
  class Entry {
   public:
    Entry(LiveRequests& all, std::string id, std::string key_id, const Generation& generation);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    LiveRequests& all_;
    std::list<Item>::iterator place_;
  };

  const std::list<Item>& items() const { return items_; }
  // With what has come until now.
  const RecentActivity& activity();

 private:
  void note_news(Item& item);

  std::list<Item> items_;
  RecentActivity activity_;
};

}  // namespace vitrine::server
