#include "tools/machine.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/temp_dir.h"
#include "tools/fake_hub.h"

namespace vitrine::tools {
namespace {

class FakeRoot {
 public:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = folder_.path() / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  Machine read() const { return read_machine(folder_.path()); }
  std::filesystem::path path() const { return folder_.path(); }

 private:
  testing::TempDir folder_;
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

TEST(Machine, OnlyNodesWhoseMemoryIsAllowedCount) {
  const FakeRoot root;
  root.write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 8388608 kB\n");
  for (const std::string node : {"0", "1", "2", "3"}) {
    root.write("sys/devices/system/node/node" + node + "/meminfo",
               "Node " + node + " MemTotal: 2097152 kB\nNode " + node + " MemFree: 1048576 kB\nNode " + node +
                   " Active(file): 1024 kB\nNode " + node + " Inactive(file): 1024 kB\n");
  }
  root.write("proc/self/status", "Name:\tx\nMems_allowed_list:\t0-3\n");
  EXPECT_EQ(root.read().total_memory_bytes, 8192 * kMib);
  root.write("proc/self/status", "Mems_allowed_list:\t0,2-3\n");
  EXPECT_EQ(root.read().total_memory_bytes, 6144 * kMib);
  EXPECT_EQ(root.read().available_memory_bytes, 3 * 1026 * kMib);
  root.write("proc/self/status", "Mems_allowed_list:\t1\n");
  EXPECT_EQ(root.read().total_memory_bytes, 2048 * kMib);
}

// cpus 0 to 3: two cores of two hyper-threads, numbered as kernels do; cpu 4 on another package and node.
void write_topology(const FakeRoot& root) {
  const std::vector<std::array<int, 3>> places = {{0, 0, 0}, {0, 1, 0}, {0, 0, 0}, {0, 1, 0}, {1, 0, 1}};
  for (std::size_t cpu = 0; cpu < places.size(); ++cpu) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu);
    root.write(folder + "/topology/physical_package_id", std::to_string(places[cpu][0]) + "\n");
    root.write(folder + "/topology/core_id", std::to_string(places[cpu][1]) + "\n");
    root.write(folder + "/node" + std::to_string(places[cpu][2]) + "/cpulist", "\n");
  }
}

TEST(Cpus, HyperThreadsOfACoreCountOnce) {
  const FakeRoot root;
  write_topology(root);
  const auto read = [&](std::vector<unsigned> allowed) { return read_cpus(root.path(), allowed); };
  EXPECT_EQ(read({0, 1, 2, 3}).cores.size(), 2U);
  EXPECT_EQ(read({0, 2}).cores.size(), 1U);
  EXPECT_EQ(read({0, 1, 4}).cores.size(), 3U);
  EXPECT_EQ(read({0, 1, 2, 3}).num_nodes(), 1U);
  EXPECT_EQ(read({0, 4}).num_nodes(), 2U);
  EXPECT_EQ(read({0, 1, 2, 3, 4}).cores, (std::vector<unsigned>{0, 1, 4}));
  EXPECT_EQ(read({4, 3, 2}).nodes, (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(read({0, 1, 2, 3, 4}).num_threads(), 3U);
  EXPECT_EQ(read({0, 7}).cores.size(), 2U) << "where the kernel does not tell, a CPU is a core";
}

TEST(Cpus, TheTightestQuotaOfAllLevelsCutsTheThreads) {
  const FakeRoot root;
  write_topology(root);
  const std::vector<unsigned> allowed = {0, 1, 4};
  root.write("proc/self/cgroup", "0::/outer/inner\n");
  root.write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  EXPECT_FALSE(read_cpus(root.path(), allowed).quota);
  root.write("sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
  EXPECT_EQ(read_cpus(root.path(), allowed).quota, 1.5);
  EXPECT_EQ(read_cpus(root.path(), allowed).num_threads(), 2U);
  root.write("sys/fs/cgroup/outer/inner/cpu.max", "10000 100000\n");
  EXPECT_EQ(read_cpus(root.path(), allowed).num_threads(), 1U);
  root.write("sys/fs/cgroup/outer/inner/cpu.max", "900000 100000\n");
  root.write("sys/fs/cgroup/outer/cpu.max", "900000 100000\n");
  EXPECT_EQ(read_cpus(root.path(), allowed).num_threads(), 3U);
}

TEST(Cpus, AQuotaOfVersionOneIsReadToo) {
  const FakeRoot root;
  write_topology(root);
  const std::vector<unsigned> allowed = {0, 1};
  root.write("proc/self/cgroup", "5:cpu,cpuacct:/box\n4:memory:/\n");
  root.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(read_cpus(root.path(), allowed).quota);
  root.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(read_cpus(root.path(), allowed).quota, 0.5);
}

TEST(Cpus, ThisProcessMayRunSomewhere) {
  const Cpus cpus = read_cpus();
  EXPECT_GE(cpus.allowed.size(), cpus.cores.size());
  EXPECT_GE(cpus.num_threads(), 1U);
}

TEST(Machine, NothingReadableIsNoReasonToFail) {
  const FakeRoot root;
  const Machine machine = root.read();
  EXPECT_GE(machine.cpus.allowed.size(), 1U);
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
