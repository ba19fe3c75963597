#include "engine/engine_thread.h"

#include <exception>
#include <optional>
#include <utility>

namespace vitrine::engine {
namespace {

constexpr std::chrono::seconds kWatchTime{2};
constexpr std::chrono::milliseconds kSnapshotInterval{50};  // a walk over all blocks in each step would be felt

}  // namespace

EngineThread::EngineThread(Engine& engine, std::function<void(const std::string& what)> on_fault, StepTurns* turns)
    : engine_(engine),
      on_fault_(std::move(on_fault)),
      turns_(turns),
      stats_(engine.stats()),
      watched_{engine.snapshot(), std::chrono::steady_clock::now()},
      thread_([this](const std::stop_token& stop) {
        try {
          run(stop);
        } catch (const std::exception& error) {
          on_fault_(error.what());
        }
      }) {}

void EngineThread::run(const std::stop_token& stop) {
  while (!stop.stop_requested() && engine_.wait_for_work(stop)) {
    step();
    publish();
  }
}

void EngineThread::step() {
  std::optional<StepTurns::Turn> turn;
  if (turns_ != nullptr) turn.emplace(*turns_);
  engine_.step();
}

void EngineThread::publish() {
  const EngineStats stats = engine_.stats();
  const auto now = std::chrono::steady_clock::now();
  const bool is_idle = !engine_.has_work();
  std::unique_lock lock(stats_mutex_);
  stats_ = stats;
  const bool is_watched = now - last_watch_ <= kWatchTime && now - watched_.taken >= kSnapshotInterval;
  if (!is_idle && !is_watched) return;
  lock.unlock();
  WatchedSnapshot watched{engine_.snapshot(), now};
  lock.lock();
  watched_ = std::move(watched);
}

EngineThread::WatchedSnapshot EngineThread::watch() const {
  const std::scoped_lock lock(stats_mutex_);
  last_watch_ = std::chrono::steady_clock::now();
  return watched_;
}

EngineStats EngineThread::stats() const {
  const std::scoped_lock lock(stats_mutex_);
  return stats_;
}

}  // namespace vitrine::engine
