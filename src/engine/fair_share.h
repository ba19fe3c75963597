#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace vitrine::engine {

// How much each tenant was served, so that the one served least goes first: the Virtual Token Counter of Sheng et al.,
// "Fairness in Serving Large Language Models" (OSDI 2024). Nobody can save up: a tenant that comes back from having
// nothing to do is level with the least served of the others. Owned by the scheduler.
class FairShare {
 public:
  // A generated token costs about what two tokens of a prompt do.
  static constexpr std::uint64_t kGeneratedTokenCost = 2;

  // A request of the tenant waits or runs from now on; no longer.
  void enter(const std::string& tenant);
  void leave(std::string_view tenant);
  // `cost` in tokens of a prompt; of a tenant that has entered.
  void charge(std::string_view tenant, std::uint64_t cost);
  std::uint64_t served(std::string_view tenant) const;
  // Those that have requests.
  std::size_t num_active() const { return num_active_; }

 private:
  struct Tenant {
    std::uint64_t served = 0;
    std::size_t num_requests = 0;
  };
  std::uint64_t least_served() const;

  std::map<std::string, Tenant, std::less<>> tenants_;
  std::size_t num_active_ = 0;
};

}  // namespace vitrine::engine
