#include "engine/engine_thread.h"

#include <exception>
#include <utility>

namespace vitrine::engine {

EngineThread::EngineThread(Engine& engine, std::function<void(const std::string& what)> on_fault)
    : engine_(engine),
      on_fault_(std::move(on_fault)),
      stats_(engine.stats()),
      thread_([this](const std::stop_token& stop) {
        try {
          run(stop);
        } catch (const std::exception& error) {
          on_fault_(error.what());
        }
      }) {}

void EngineThread::run(const std::stop_token& stop) {
  while (!stop.stop_requested() && engine_.wait_for_work(stop)) {
    engine_.step();
    const std::scoped_lock lock(stats_mutex_);
    stats_ = engine_.stats();
  }
}

EngineStats EngineThread::stats() const {
  const std::scoped_lock lock(stats_mutex_);
  return stats_;
}

}  // namespace vitrine::engine
