#include "tools/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tools/control_group.h"

namespace vitrine::tools {
namespace {

namespace fs = std::filesystem;

// Masks grow with the machine: the kernel refuses one that is too small for it.
std::vector<unsigned> cpus_of_this_process() {
  for (std::size_t num_cpus = CPU_SETSIZE; num_cpus <= (std::size_t{1} << 20U); num_cpus *= 2) {
    cpu_set_t* const set = CPU_ALLOC(num_cpus);
    const std::size_t size = CPU_ALLOC_SIZE(num_cpus);
    std::vector<unsigned> cpus;
    const bool done = ::sched_getaffinity(0, size, set) == 0;
    for (unsigned cpu = 0; done && cpu < num_cpus; ++cpu) {
      if (CPU_ISSET_S(cpu, size, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (!cpus.empty()) return cpus;
  }
  return {0};
}

fs::path cpu_folder(const fs::path& root, unsigned cpu) {
  return root / fmt::format("sys/devices/system/cpu/cpu{}", cpu);
}

// Of each core its first CPU; all CPUs where the machine does not say which share one.
std::vector<unsigned> one_of_each_core(const fs::path& root, std::span<const unsigned> cpus) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> cores;  // package, core
  std::vector<unsigned> first_cpus;
  for (const unsigned cpu : cpus) {
    const fs::path topology = cpu_folder(root, cpu) / "topology";
    const auto core = file_number(topology / "core_id");
    if (!core) return {cpus.begin(), cpus.end()};
    if (cores.emplace(file_number(topology / "physical_package_id").value_or(0), *core).second)
      first_cpus.push_back(cpu);
  }
  return first_cpus;
}

// A CPU's folder has a link nodeN to the node that it lies in.
std::optional<unsigned> node_of(const fs::path& root, unsigned cpu) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(cpu_folder(root, cpu), ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node")) continue;
    if (const auto node = first_number(name)) return static_cast<unsigned>(*node);
  }
  return std::nullopt;
}

// cpu.max holds "QUOTA PERIOD" or "max PERIOD"; version 1 has a file for each, and -1 where there is no quota.
std::optional<double> quota_at(const GroupLevel& level) {
  const std::vector<std::string> lines =
      read_lines(level.folder / (level.is_version_2 ? "cpu.max" : "cpu.cfs_quota_us"));
  if (lines.empty() || lines.front().starts_with("max") || lines.front().starts_with("-")) return std::nullopt;
  const std::string& text = lines.front();
  const auto quota = first_number(text);
  const auto period = level.is_version_2 ? first_number(text.substr(std::min(text.find(' '), text.size())))
                                         : file_number(level.folder / "cpu.cfs_period_us");
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> tightest_quota(const fs::path& root) {
  std::optional<double> tightest;
  for (const GroupLevel& level : group_levels(root, "cpu")) {
    const auto quota = quota_at(level);
    if (quota && (!tightest || *quota < *tightest)) tightest = quota;
  }
  return tightest;
}

}  // namespace

std::size_t Cpus::num_threads() const {
  if (!quota) return cores.size();
  const auto paid = static_cast<std::size_t>(std::ceil(std::min(*quota, static_cast<double>(cores.size()))));
  return std::clamp<std::size_t>(paid, 1, cores.size());
}

Cpus read_cpus(const fs::path& root, std::span<const unsigned> allowed) {
  Cpus cpus;
  cpus.allowed.assign(allowed.begin(), allowed.end());
  if (cpus.allowed.empty()) cpus.allowed = cpus_of_this_process();
  cpus.cores = one_of_each_core(root, cpus.allowed);
  std::map<unsigned, std::optional<unsigned>> nodes;
  for (const unsigned cpu : cpus.allowed)
    nodes[cpu] = node_of(root, cpu);
  std::ranges::stable_sort(cpus.cores, {}, [&](unsigned cpu) { return nodes[cpu]; });
  std::set<unsigned> distinct;
  for (const auto& [cpu, node] : nodes)
    if (node) distinct.insert(*node);
  cpus.nodes.assign(distinct.begin(), distinct.end());
  cpus.quota = tightest_quota(root);
  return cpus;
}

}  // namespace vitrine::tools
