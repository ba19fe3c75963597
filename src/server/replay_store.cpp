#include "server/replay_store.h"

#include <algorithm>
#include <utility>

#include "server/api_error.h"
#include "server/engine_call.h"

namespace vitrine::server {
namespace {

// Rows of a step, so that answers beside it hardly wait.
constexpr std::size_t kReplayChunk = 64;

std::shared_ptr<explain::Replay> begin_replay(const ServedModel& model, explain::Recording recording,
                                              std::size_t max_bytes) {
  auto replay = explain::Replay::create(
      *model.model, std::move(recording),
      {.kv_type = model.engine->engine().config().kv_type, .max_chunk_tokens = kReplayChunk, .max_bytes = max_bytes});
  if (!replay) throw ApiException({.message = replay.error().message, .code = "xray_too_large"});
  return *std::move(replay);
}

}  // namespace

std::shared_ptr<explain::Replay> ReplayStore::find(const std::string& id, const ModelSlot& slot) {
  const auto found = std::ranges::find(entries_, id, &Entry::id);
  if (found == entries_.end()) return nullptr;
  Entry entry = std::move(*found);
  entries_.erase(found);
  // The model that it points to is gone.
  if (entry.load_number != slot.num_loads()) {
    num_bytes_ -= entry.replay->size_bytes();
    return nullptr;
  }
  entries_.push_back(std::move(entry));
  return entries_.back().replay;
}

void ReplayStore::add(Entry entry) {
  num_bytes_ += entry.replay->size_bytes();
  entries_.push_back(std::move(entry));
  while (num_bytes_ > max_bytes_) {
    num_bytes_ -= entries_.front().replay->size_bytes();
    entries_.pop_front();
  }
}

Awaitable<std::shared_ptr<explain::Replay>> ReplayStore::get(std::string id, explain::Recording recording,
                                                             const ModelSlot& slot) {
  if (auto held = find(id, slot)) co_return held;
  const ServedModel& model = slot.loaded()->served();
  auto replay = begin_replay(model, std::move(recording), max_bytes_);
  auto piece = [replay] { return replay->advance(); };
  co_await run_on_engine(model, std::move(piece));
  // Somebody else may have asked for it at the same time; one is enough.
  if (auto held = find(id, slot)) co_return held;
  add({std::move(id), slot.num_loads(), replay});
  co_return replay;
}

Awaitable<std::optional<explain::Roof>> ReplayStore::roof(const ModelSlot& slot) {
  const ServedModel& model = slot.loaded()->served();
  if (!model.measure_roof) co_return std::nullopt;
  if (const auto known = roofs_.find(model.name); known != roofs_.end()) co_return known->second;
  const auto measured = std::make_shared<explain::Roof>();
  auto piece = [measured, measure = model.measure_roof] {
    *measured = measure();
    return false;
  };
  co_await run_on_engine(model, std::move(piece));
  roofs_.insert_or_assign(model.name, *measured);
  co_return *measured;
}

}  // namespace vitrine::server
