#include "base/thread_pool.h"

#include <optional>

#include "base/check.h"
#include "base/cpu_placement.h"

namespace vitrine::base {
namespace {

// Around 30 us on the machines measured: longer than any gap between two operations of a step, short enough to leave
// the CPU to others between steps.
constexpr int kSpinRounds = 1000;

constexpr std::uint32_t kMaxWorkers = (1U << 10U) - 1;
constexpr std::uint32_t kJoined = kMaxWorkers;  // the bits that count workers
constexpr std::uint32_t kClosed = 1U << 10U;
constexpr std::uint32_t kRun = 1U << 11U;

void pause_cpu() {
  __builtin_ia32_pause();
}

}  // namespace

ThreadPool::ThreadPool(std::size_t num_threads, std::span<const unsigned> cpus) : state_(kClosed) {
  VT_CHECK(cpus.empty() || cpus.size() >= num_threads, "a CPU for each thread");
  VT_CHECK(num_threads >= 1 && num_threads <= kMaxWorkers + 1, "a number of threads that the pool can count");
  for (std::size_t thread_idx = 1; thread_idx < num_threads; ++thread_idx) {
    const std::optional<unsigned> cpu = cpus.empty() ? std::nullopt : std::optional(cpus[thread_idx]);
    workers_.emplace_back([this, thread_idx, cpu] {
      if (cpu) run_on_cpu(*cpu);
      work(thread_idx);
    });
  }
}

ThreadPool::~ThreadPool() {
  stopping_.store(true, std::memory_order_relaxed);
  state_.fetch_add(kRun, std::memory_order_release);
  state_.notify_all();
  for (std::thread& worker : workers_)
    worker.join();
}

void ThreadPool::run(Erased function, const void* context) {
  function_ = function;
  context_ = context;
  num_finished_.store(0, std::memory_order_relaxed);
  const std::uint32_t next_run = (state_.load(std::memory_order_relaxed) / kRun + 1) * kRun;
  state_.store(next_run, std::memory_order_release);
  state_.notify_all();
  function(context, 0);
  const std::uint32_t num_joined = state_.fetch_or(kClosed, std::memory_order_acq_rel) & kJoined;
  for (int round = 0; round < kSpinRounds; ++round) {
    if (num_finished_.load(std::memory_order_acquire) == num_joined) return;
    pause_cpu();
  }
  // A worker may have lost its CPU to another process: give ours away instead of burning it.
  std::uint32_t num_finished = 0;
  while ((num_finished = num_finished_.load(std::memory_order_acquire)) != num_joined)
    num_finished_.wait(num_finished, std::memory_order_acquire);
}

void ThreadPool::work(std::size_t thread_idx) {
  std::uint32_t state = kClosed;
  std::uint32_t last_run = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    state = wait_for_change_of(state);
    const bool is_new = state / kRun != last_run && (state & kClosed) == 0;
    if (!is_new || !join(state)) continue;
    last_run = state / kRun;
    function_(context_, thread_idx);
    num_finished_.fetch_add(1, std::memory_order_release);
    num_finished_.notify_one();
  }
}

// Fails where the run was closed meanwhile or another worker was faster to join; the worker then looks again.
bool ThreadPool::join(std::uint32_t state) {
  return state_.compare_exchange_strong(state, state + 1, std::memory_order_acquire, std::memory_order_relaxed);
}

std::uint32_t ThreadPool::wait_for_change_of(std::uint32_t state) const {
  for (int round = 0; round < kSpinRounds; ++round) {
    const std::uint32_t now = state_.load(std::memory_order_acquire);
    if (now != state) return now;
    pause_cpu();
  }
  state_.wait(state, std::memory_order_acquire);
  return state_.load(std::memory_order_acquire);
}

}  // namespace vitrine::base
