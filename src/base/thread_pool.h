#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <type_traits>
#include <vector>

namespace vitrine::base {

// A fixed set of threads that work on one range together, the caller being thread 0. A range never waits for a thread
// that has not begun on it: where another process holds a CPU, the others do its share. Between two ranges a worker
// spins for a short while, since the next operation of a forward pass is microseconds away, then sleeps in the kernel.
// for_range() is to be called from one thread at a time and must not be nested.
class ThreadPool {
 public:
  // num_threads counts the caller; at least 1. With `cpus`, one for each thread, the workers are kept on theirs; the
  // caller, which other threads may descend from, goes where the system puts it.
  explicit ThreadPool(std::size_t num_threads, std::span<const unsigned> cpus = {});
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  std::size_t num_threads() const { return workers_.size() + 1; }

  // Calls body(thread_idx, begin, end) for pieces of [0, count) of at most `grain`, handed out as threads become free.
  // Small counts, and all counts of a pool of one, are one piece on the caller. What a piece computes must not depend
  // on how the range is cut. The body must not throw.
  template <typename Body>
  void for_range(std::size_t count, std::size_t grain, Body&& body) {
    if (count <= grain || workers_.empty()) {
      if (count > 0) body(std::size_t{0}, std::size_t{0}, count);
      return;
    }
    std::atomic<std::size_t> next{0};
    const auto take_pieces = [&](std::size_t thread_idx) {
      while (true) {
        const std::size_t begin = next.fetch_add(grain, std::memory_order_relaxed);
        if (begin >= count) return;
        body(thread_idx, begin, begin + grain < count ? begin + grain : count);
      }
    };
    using Function = decltype(take_pieces);
    run([](const void* context, std::size_t thread_idx) { (*static_cast<Function*>(context))(thread_idx); },
        &take_pieces);
  }

 private:
  using Erased = void (*)(const void* context, std::size_t thread_idx);

  // Calls function(context, 0), and function(context, thread_idx) on each worker that comes before that has returned.
  void run(Erased function, const void* context);
  void work(std::size_t thread_idx);
  std::uint32_t wait_for_change_of(std::uint32_t state) const;
  bool join(std::uint32_t state);

  Erased function_ = nullptr;
  const void* context_ = nullptr;
  // Low bits: workers that joined the run, and whether it is closed to others; above them the run's number, which may
  // wrap: a worker that slept so long joins a run that is open all the same.
  alignas(64) std::atomic<std::uint32_t> state_;
  alignas(64) std::atomic<std::uint32_t> num_finished_{0};  // of the workers that joined
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

}  // namespace vitrine::base
