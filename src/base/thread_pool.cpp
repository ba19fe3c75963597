#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

namespace vitrine::base {
namespace {

// Around 30 us on the machines measured: longer than any gap between two operations of a step, short enough to leave
// the CPU to others between steps.
constexpr int kSpinRounds = 1000;

void pause_cpu() {
  __builtin_ia32_pause();
}

// Quota of the cgroup (v2, then v1) in CPUs; 0 when there is none.
std::size_t cgroup_cpu_quota() {
  double quota = 0;
  double period = 0;
  std::string text;
  if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file >> text >> period && text != "max") {
    std::sscanf(text.c_str(), "%lf", &quota);
  } else if (std::ifstream v1("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"); v1 >> quota && quota > 0) {
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  }
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<std::size_t>(std::max(1.0, quota / period + 0.999));
}

}  // namespace

ThreadPool::ThreadPool(std::size_t num_threads) {
  for (std::size_t thread_idx = 1; thread_idx < num_threads; ++thread_idx) {
    workers_.emplace_back([this, thread_idx] { work(thread_idx); });
  }
}

ThreadPool::~ThreadPool() {
  stopping_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& worker : workers_)
    worker.join();
}

void ThreadPool::run_erased(Erased function, void* context) {
  if (workers_.empty()) {
    function(context, 0);
    return;
  }
  function_ = function;
  context_ = context;
  unfinished_.store(static_cast<std::uint32_t>(workers_.size()), std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  function(context, 0);
  for (int round = 0; round < kSpinRounds; ++round) {
    if (unfinished_.load(std::memory_order_acquire) == 0) return;
    pause_cpu();
  }
  // A worker may have lost its CPU to another process: give ours away instead of burning it.
  while (const std::uint32_t left = unfinished_.load(std::memory_order_acquire))
    unfinished_.wait(left);
}

void ThreadPool::work(std::size_t thread_idx) {
  std::uint32_t seen = 0;
  while (true) {
    seen = wait_for_epoch_after(seen);
    if (stopping_.load(std::memory_order_relaxed)) return;
    function_(context_, thread_idx);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  }
}

std::uint32_t ThreadPool::wait_for_epoch_after(std::uint32_t seen) const {
  for (int round = 0; round < kSpinRounds; ++round) {
    const std::uint32_t epoch = epoch_.load(std::memory_order_acquire);
    if (epoch != seen) return epoch;
    pause_cpu();
  }
  epoch_.wait(seen, std::memory_order_acquire);
  return epoch_.load(std::memory_order_acquire);
}

std::size_t usable_cpu_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::size_t count = 1;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) count = static_cast<std::size_t>(CPU_COUNT(&set));
  if (const std::size_t quota = cgroup_cpu_quota(); quota > 0) count = std::min(count, quota);
  return std::max<std::size_t>(1, count);
}

}  // namespace vitrine::base
