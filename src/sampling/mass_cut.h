#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vitrine::sampling {

// A candidate in the order in which a sampler prefers them: rank ascending, then position ascending.
struct RankedMass {
  double rank;
  float mass;
  std::uint32_t position;
};

bool ranks_before(const RankedMass& a, const RankedMass& b);

struct MassPool {
  std::vector<RankedMass> members;
  double mass = 0;

  void add(RankedMass member) {
    members.push_back(member);
    mass += static_cast<double>(member.mass);
  }
};

// The last member of the shortest prefix (in rank order) whose masses sum to `wanted` or more; the last of all where
// the pool has less. Reorders the non-empty pool. A quickselect that descends by mass: linear time, no sort.
RankedMass find_mass_cut(std::span<RankedMass> pool, double wanted);

}  // namespace vitrine::sampling
