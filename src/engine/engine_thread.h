#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "engine/engine.h"
#include "engine/step_turns.h"

namespace vitrine::engine {

// Runs Engine::step on a thread of its own while there is work. From the first to the last moment of its life that
// thread is the engine thread: others may only submit, abort and validate.
class EngineThread {
 public:
  // `on_fault` is called once, on the engine thread, if a step throws: no request can go on after that, and none gets
  // another event. `turns`: of the engines on the same cores; null: it has them for itself. Both must outlive this.
  EngineThread(Engine& engine, std::function<void(const std::string& what)> on_fault, StepTurns* turns = nullptr);
  // Waits for the end of the step that runs. What has not ended by then gets no event any more.
  ~EngineThread() = default;

  Engine& engine() { return engine_; }
  // As of the end of the last step. Any thread.
  EngineStats stats() const;

  struct WatchedSnapshot {
    EngineSnapshot snapshot;
    std::chrono::steady_clock::time_point taken;
  };
  // What it holds, for whoever looks again and again: taken at the end of a step, up to twenty times a second, for two
  // seconds after a call, and whenever no work is left. Only the first call after a while can give an older one. Any
  // thread.
  WatchedSnapshot watch() const;

 private:
  void run(const std::stop_token& stop);
  void step();
  void publish();

  Engine& engine_;
  std::function<void(const std::string& what)> on_fault_;
  StepTurns* turns_;
  mutable std::mutex stats_mutex_;
  EngineStats stats_;
  WatchedSnapshot watched_;
  mutable std::chrono::steady_clock::time_point last_watch_;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace vitrine::engine
