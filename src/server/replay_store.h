#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "explain/replay.h"
#include "explain/report.h"
#include "server/awaitable.h"
#include "server/model_pool.h"

namespace vitrine::server {

// Requests that were computed again for an X-ray, the last ones that fit. Used on the thread of the sockets.
class ReplayStore {
 public:
  // Memory that all of them together may hold; 0: nothing can be computed again.
  explicit ReplayStore(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // That of a request, computed now where it is not there. `slot` has the model, which the caller keeps loaded as long
  // as it uses the replay. Throws ApiException: 400 where it takes too much memory.
  Awaitable<std::shared_ptr<explain::Replay>> get(std::string id, explain::Recording recording, const ModelSlot& slot);
  // What this machine can do at most for that model, which is loaded; measured when it is first asked for.
  Awaitable<std::optional<explain::Roof>> roof(const ModelSlot& slot);

 private:
  struct Entry {
    std::string id;
    std::size_t load_number;  // which loading of the model it belongs to
    std::shared_ptr<explain::Replay> replay;
  };

  std::shared_ptr<explain::Replay> find(const std::string& id, const ModelSlot& slot);
  void add(Entry entry);

  std::size_t max_bytes_;
  std::size_t num_bytes_ = 0;
  std::deque<Entry> entries_;                                // the one used last is the last
  std::map<std::string, explain::Roof, std::less<>> roofs_;  // by model
};

}  // namespace vitrine::server
