#include "sampling/mass_cut.h"

#include <algorithm>
#include <cstddef>

namespace vitrine::sampling {

bool ranks_before(const RankedMass& a, const RankedMass& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  return a.position < b.position;
}

RankedMass find_mass_cut(std::span<RankedMass> pool, double wanted) {
  while (pool.size() > 1) {
    const std::size_t half = pool.size() / 2;
    std::nth_element(pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(half), pool.end(), ranks_before);
    double mass = 0;
    for (const RankedMass& candidate : pool.first(half))
      mass += static_cast<double>(candidate.mass);
    if (mass >= wanted) {
      pool = pool.first(half);
    } else {
      wanted -= mass;
      pool = pool.subspan(half);
    }
  }
  return pool.front();
}

}  // namespace vitrine::sampling
