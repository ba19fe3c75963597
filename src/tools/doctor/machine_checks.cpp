#include "tools/doctor/machine_checks.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/control_group.h"
#include "tools/hub/files.h"

namespace vitrine::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLittleMemory = std::uint64_t{1} << 30U;
constexpr double kSlowMemory = 4e9;  // bytes per second

std::string first_line(const fs::path& path) {
  const auto lines = tools::read_lines(path);
  return lines.empty() ? "" : lines.front();
}

// "48K" as the kernel writes it.
std::uint64_t cache_bytes(const std::string& text) {
  const std::uint64_t number = tools::first_number(text).value_or(0);
  if (text.find('M') != std::string::npos) return number << 20U;
  return text.find('K') != std::string::npos ? number << 10U : number;
}

std::vector<CacheFacts> read_caches(const fs::path& root) {
  constexpr int kMaxCaches = 8;
  std::vector<CacheFacts> caches;
  for (int i = 0; i < kMaxCaches; ++i) {
    const fs::path folder = root / fmt::format("sys/devices/system/cpu/cpu0/cache/index{}", i);
    const std::string level = first_line(folder / "level");
    const std::string type = first_line(folder / "type");
    if (level.empty() || type == "Instruction") continue;
    caches.push_back({"L" + level + (type == "Data" ? "d" : ""), cache_bytes(first_line(folder / "size"))});
  }
  return caches;
}

// The word in brackets of "always [madvise] never".
std::string chosen_word(const std::string& text) {
  const std::size_t begin = text.find('[');
  const std::size_t end = text.find(']');
  return begin == std::string::npos || end == std::string::npos ? "" : text.substr(begin + 1, end - begin - 1);
}

Check check_isa(const tools::Machine& machine, const HostFacts& host, const RunFacts& run) {
  const std::string detail = fmt::format("{}: {} is used, of {}", machine.cpu.empty() ? "unknown CPU" : machine.cpu,
                                         run.isa, fmt::join(run.isas, ", "));
  if (run.isa != run.isas.back())
    return warn("instruction_set", detail,
                "unset VITRINE_ISA: the highest level is the fastest and gives the same bits");
  if (run.isas.size() > 1) return ok("instruction_set", detail);
  return warn("instruction_set", detail,
              host.has_avx2
                  ? "let the hypervisor pass FMA and F16C on as well as AVX2"
                  : "answers are several times slower without AVX2; under a hypervisor pass the host's CPU on");
}

Check check_amx(const HostFacts& host, const RunFacts& run) {
  const bool is_usable = std::ranges::find(run.isas, "amx") != run.isas.end();
  if (is_usable) return ok("amx", "the CPU has tiles, and the kernel permits them");
  if (!host.has_amx) return ok("amx", "the CPU has no tiles; other units do their work");
  return warn("amx", "the CPU has tiles, but the kernel does not permit them",
              "needs Linux 5.16 or later, and no seccomp rule against arch_prctl(ARCH_REQ_XCOMP_PERM)");
}

Check check_threads(const tools::Machine& machine, const RunFacts& run) {
  const tools::Cpus& cpus = machine.cpus;
  std::string detail =
      fmt::format("{} threads on {} cores ({} CPUs)", run.num_threads, cpus.cores.size(), cpus.allowed.size());
  if (!cpus.quota || *cpus.quota >= static_cast<double>(cpus.cores.size())) return ok("threads", detail);
  return warn("threads", fmt::format("{}; the control group pays for {:g} CPUs", detail, *cpus.quota),
              fmt::format("give the container all cores (docker run --cpus {}), or fewer to share", cpus.cores.size()));
}

Check check_numa(const tools::Machine& machine) {
  const std::size_t num_nodes = machine.cpus.num_nodes();
  if (num_nodes <= 1) return ok("numa", "one node");
  return warn("numa", fmt::format("the threads lie in {} nodes; reading another node's memory is slower", num_nodes),
              "run one server a node: numactl --cpunodebind=0 --membind=0 vitrine serve ...");
}

Check check_caches(const HostFacts& host) {
  if (host.caches.empty()) return ok("caches", "the kernel does not say");
  std::vector<std::string> parts;
  for (const CacheFacts& cache : host.caches)
    parts.push_back(cache.name + " " + hub::format_bytes(cache.size_bytes));
  return ok("caches", fmt::format("{}", fmt::join(parts, ", ")));
}

Check check_memory(const tools::Machine& machine) {
  const std::string detail = fmt::format("{} of {} are free", hub::format_bytes(machine.available_memory_bytes),
                                         hub::format_bytes(machine.total_memory_bytes));
  if (machine.available_memory_bytes >= kLittleMemory) return ok("memory", detail);
  return warn("memory", detail, "end other programs or raise the container's limit: small models need 1 GB");
}

Check check_huge_pages(const HostFacts& host) {
  if (host.huge_pages.empty()) return ok("huge_pages", "the kernel does not say");
  if (host.huge_pages != "never") return ok("huge_pages", host.huge_pages + ": weights lie in them");
  return warn("huge_pages", "never: every read of weights looks more pages up",
              "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
}

Check check_bandwidth(const RunFacts& run) {
  const std::string detail =
      fmt::format("{:.1f} GB/s read by all threads: a model of 1 GB gives at most {:.0f} tokens/s",
                  run.read_bytes_per_s * 1e-9, run.read_bytes_per_s * 1e-9);
  if (run.read_bytes_per_s >= kSlowMemory) return ok("bandwidth", detail);
  return warn("bandwidth", detail,
              "measure again when nothing else runs; a virtual machine may share its memory's bandwidth");
}

}  // namespace

HostFacts read_host(const fs::path& root) {
  HostFacts host;
  host.caches = read_caches(root);
  host.huge_pages = chosen_word(first_line(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  for (const std::string& line : tools::read_lines(root / "proc/cpuinfo")) {
    if (!line.starts_with("flags")) continue;
    const std::string words = line + " ";
    host.has_amx = words.find(" amx_tile ") != std::string::npos;
    host.has_avx2 = words.find(" avx2 ") != std::string::npos;
    break;
  }
  return host;
}

std::vector<Check> check_machine(const tools::Machine& machine, const HostFacts& host, const RunFacts& run) {
  std::vector<Check> checks = {check_isa(machine, host, run), check_amx(host, run), check_threads(machine, run),
                               check_numa(machine),           check_caches(host),   check_memory(machine),
                               check_huge_pages(host)};
  if (run.read_bytes_per_s > 0) checks.push_back(check_bandwidth(run));
  if (run.flops_per_s > 0)
    checks.push_back(ok("multiply", fmt::format("{:.0f} GFLOPS with 256 prompt rows of q8_0", run.flops_per_s * 1e-9)));
  return checks;
}

}  // namespace vitrine::doctor
