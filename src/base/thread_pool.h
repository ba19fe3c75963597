#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace vitrine::base {

// A fixed set of threads that run the same function together, the caller being thread 0. Between two runs a worker
// spins for a short while, since the next run of a forward pass is microseconds away, then sleeps in the kernel. run()
// is to be called from one thread at a time and must not be nested.
class ThreadPool {
 public:
  // num_threads counts the caller; at least 1.
  explicit ThreadPool(std::size_t num_threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  std::size_t num_threads() const { return workers_.size() + 1; }

  // Calls body(thread_idx) once on each thread and returns when all are done. The body must not throw.
  template <typename Body>
  void run(Body&& body) {
    using Function = std::remove_reference_t<Body>;
    run_erased([](void* context, std::size_t thread_idx) { (*static_cast<Function*>(context))(thread_idx); },
               const_cast<void*>(static_cast<const void*>(&body)));
  }

  // Calls body(thread_idx, begin, end) for pieces of [0, count) of at most `grain`, handed out as threads become free.
  // Small counts run on the caller alone. What a piece computes must not depend on how the range is cut.
  template <typename Body>
  void for_range(std::size_t count, std::size_t grain, Body&& body) {
    if (count <= grain || workers_.empty()) {
      if (count > 0) body(std::size_t{0}, std::size_t{0}, count);
      return;
    }
    std::atomic<std::size_t> next{0};
    run([&](std::size_t thread_idx) {
      while (true) {
        const std::size_t begin = next.fetch_add(grain, std::memory_order_relaxed);
        if (begin >= count) return;
        body(thread_idx, begin, begin + grain < count ? begin + grain : count);
      }
    });
  }

 private:
  using Erased = void (*)(void* context, std::size_t thread_idx);

  void run_erased(Erased function, void* context);
  void work(std::size_t thread_idx);
  std::uint32_t wait_for_epoch_after(std::uint32_t seen) const;

  Erased function_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<std::uint32_t> epoch_{0};       // a new value starts a run
  alignas(64) std::atomic<std::uint32_t> unfinished_{0};  // workers still inside the current run
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

// Threads that this process may use: the CPU affinity mask, cut by the cgroup's CPU quota (rounded up).
std::size_t usable_cpu_count();

}  // namespace vitrine::base
