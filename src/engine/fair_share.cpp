#include "engine/fair_share.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace vitrine::engine {

std::uint64_t FairShare::least_served() const {
  auto least = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [name, tenant] : tenants_) {
    if (tenant.num_requests > 0) least = std::min(least, tenant.served);
  }
  return least;
}

void FairShare::enter(const std::string& tenant) {
  Tenant& entered = tenants_[tenant];
  if (entered.num_requests == 0) {
    if (num_active_ > 0) entered.served = std::max(entered.served, least_served());
    ++num_active_;
  }
  ++entered.num_requests;
}

void FairShare::leave(std::string_view tenant) {
  const auto left = tenants_.find(tenant);
  VT_CHECK(left != tenants_.end() && left->second.num_requests > 0, "a tenant leaves more often than it entered");
  if (--left->second.num_requests > 0) return;
  --num_active_;
  // What an absent tenant was served matters only where it is more than it would come back with.
  const std::uint64_t level = least_served();
  std::erase_if(tenants_,
                [level](const auto& item) { return item.second.num_requests == 0 && item.second.served <= level; });
}

void FairShare::charge(std::string_view tenant, std::uint64_t cost) {
  const auto charged = tenants_.find(tenant);
  VT_CHECK(charged != tenants_.end(), "a tenant is charged that has not entered");
  charged->second.served += cost;
}

std::uint64_t FairShare::served(std::string_view tenant) const {
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? 0 : found->second.served;
}

}  // namespace vitrine::engine
