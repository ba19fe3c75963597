#include "tools/machine.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tools/fake_hub.h"

namespace vitrine::tools {
namespace {

class FakeRoot {
 public:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = std::filesystem::path(folder_.path()) / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  Machine read() const { return read_machine(folder_.path()); }

 private:
  testing::TemporaryFolder folder_;
};

constexpr std::uint64_t kMib = 1024 * 1024;

TEST(Machine, WithoutAControlGroupTheKernelsFiguresCount) {
  const FakeRoot root;
  root.write("proc/meminfo", "MemTotal:       8388608 kB\nMemFree: 1 kB\nMemAvailable:   4194304 kB\n");
  EXPECT_EQ(root.read().total_memory_bytes, 8192 * kMib);
  EXPECT_EQ(root.read().available_memory_bytes, 4096 * kMib);
}

TEST(Machine, TheTightestLimitOfAllLevelsCounts) {
  const FakeRoot root;
  root.write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
  root.write("proc/self/cgroup", "0::/outer/inner\n");
  root.write("sys/fs/cgroup/outer/memory.max", std::to_string(1024 * kMib) + "\n");
  root.write("sys/fs/cgroup/outer/memory.current", std::to_string(600 * kMib) + "\n");
  root.write("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file " + std::to_string(200 * kMib) +
                                                    "\nactive_file " + std::to_string(100 * kMib) + "\n");
  root.write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  root.write("sys/fs/cgroup/outer/inner/memory.current", "5\n");
  EXPECT_EQ(root.read().total_memory_bytes, 1024 * kMib);
  EXPECT_EQ(root.read().available_memory_bytes, 724 * kMib);
}

TEST(Machine, VersionOneGroupsAreReadToo) {
  const FakeRoot root;
  root.write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
  root.write("proc/self/cgroup", "5:cpu:/x\n4:memory:/box\n0::/\n");
  root.write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", std::to_string(512 * kMib));
  root.write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", std::to_string(500 * kMib));
  root.write("sys/fs/cgroup/memory/box/memory.stat", "total_inactive_file " + std::to_string(100 * kMib) + "\n");
  EXPECT_EQ(root.read().available_memory_bytes, 112 * kMib);
}

TEST(Machine, NothingReadableIsNoReasonToFail) {
  const FakeRoot root;
  const Machine machine = root.read();
  EXPECT_GE(machine.num_cpus, 1U);
  EXPECT_FALSE(probably_fits(machine, 1));
}

TEST(Machine, AModelNeedsRoomBesideItsWeights) {
  Machine machine;
  machine.available_memory_bytes = 1'000'000'000;
  EXPECT_TRUE(probably_fits(machine, 500'000'000));
  EXPECT_FALSE(probably_fits(machine, 900'000'000));
}

}  // namespace
}  // namespace vitrine::tools
