#include "engine/generate.h"

#include <utility>

namespace vitrine::engine {

base::Result<Generation> generate(Engine& engine, Request request, const EventCallback& on_event,
                                  const std::atomic<bool>* stop, trace::Timeline* timeline) {
  Generation answer;
  const auto collect = [&](const TokenEvent& event) {
    if (event.token) answer.token_ids.push_back(*event.token);
    if (event.finish_reason) answer.last = event;
    if (on_event) on_event(event);
  };
  const auto id = engine.submit(std::move(request), collect, timeline);
  if (!id) return id.error();
  while (!answer.last.finish_reason) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) engine.abort(*id);
    engine.step();
  }
  return answer;
}

}  // namespace vitrine::engine
