#include "base/cpu_placement.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/thread_pool.h"

namespace vitrine::base {
namespace {

unsigned first_allowed_cpu() {
  cpu_set_t set;
  EXPECT_EQ(::sched_getaffinity(0, sizeof(set), &set), 0);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) return cpu;
  }
  return 0;
}

std::size_t num_allowed_cpus() {
  cpu_set_t set;
  EXPECT_EQ(::sched_getaffinity(0, sizeof(set), &set), 0);
  return static_cast<std::size_t>(CPU_COUNT(&set));
}

TEST(CpuPlacement, AThreadStaysOnItsCpu) {
  const unsigned cpu = first_allowed_cpu();
  std::thread([cpu] {
    EXPECT_TRUE(run_on_cpu(cpu));
    EXPECT_EQ(num_allowed_cpus(), 1U);
    EXPECT_EQ(::sched_getcpu(), static_cast<int>(cpu));
  }).join();
}

TEST(CpuPlacement, ACpuThatIsNotThereChangesNothing) {
  std::thread([] {
    const std::size_t before = num_allowed_cpus();
    EXPECT_FALSE(run_on_cpu(100'000));
    EXPECT_EQ(num_allowed_cpus(), before);
  }).join();
}

TEST(CpuPlacement, WorkersOfAPoolAreKeptOnTheirCpusAndTheCallerIsNot) {
  const unsigned cpu = first_allowed_cpu();
  const std::size_t before = num_allowed_cpus();
  const std::vector<unsigned> cpus{cpu, cpu};
  ThreadPool pool(2, cpus);
  std::atomic<bool> worker_was_seen{false};
  // The worker joins a range at some time.
  while (!worker_was_seen) {
    pool.for_range(64, 1, [&](std::size_t thread_idx, std::size_t, std::size_t) {
      if (thread_idx == 0) {
        std::this_thread::yield();
        return;
      }
      EXPECT_EQ(num_allowed_cpus(), 1U);
      worker_was_seen = true;
    });
  }
  EXPECT_EQ(num_allowed_cpus(), before);
}

TEST(CpuPlacement, MemoryComesFromTheGivenNodesByTurns) {
  std::thread([] {
    const std::vector<unsigned> nodes{0};
    if (!interleave_memory(nodes)) GTEST_SKIP() << "the kernel refuses set_mempolicy here";
    int mode = -1;
    unsigned long mask[16] = {};
    ASSERT_EQ(::syscall(SYS_get_mempolicy, &mode, mask, sizeof(mask) * 8, nullptr, 0), 0);
    EXPECT_EQ(mode, MPOL_INTERLEAVE);
    EXPECT_EQ(mask[0], 1UL);
    EXPECT_FALSE(interleave_memory(nodes)) << "a policy that was chosen stays";
  }).join();
  EXPECT_FALSE(interleave_memory({}));
}

}  // namespace
}  // namespace vitrine::base
