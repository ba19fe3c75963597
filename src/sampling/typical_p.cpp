#include <cmath>
#include <limits>

#include "sampling/logits_processor.h"
#include "sampling/mass_cut.h"
#include "sampling/softmax.h"

namespace vitrine::sampling {
namespace {

// Ranks the candidates of a row by how far -ln p is from the entropy.
class TypicalRanking {
 public:
  TypicalRanking(std::span<const float> logits, float peak)
      : logits_(logits), peak_(peak), distribution_(describe(logits, peak)) {}

  double total() const { return std::exp(distribution_.log_total); }

  // |-ln p - entropy|, where -ln p = log_total - (logit - peak).
  double rank(std::size_t position) const {
    const double below_peak = static_cast<double>(logits_[position]) - static_cast<double>(peak_);
    return std::abs(distribution_.log_total - below_peak - distribution_.entropy);
  }

  // No logit below this has a rank of `reach` or less; a little lower than exact, for the rounding.
  float lowest_logit(double reach) const {
    const double depth = reach + distribution_.entropy - distribution_.log_total + 1e-6;
    return at_least(static_cast<double>(peak_) - depth - std::abs(static_cast<double>(peak_)) * 1e-6);
  }

  MassPool gather(double reach) const {
    MassPool pool;
    for_each_at_least(logits_, lowest_logit(reach), [&](std::size_t position) {
      const double distance = rank(position);
      if (distance > reach) return;
      pool.add({distance, exp_nonpositive(logits_[position] - peak_), static_cast<std::uint32_t>(position)});
    });
    return pool;
  }

  // The pool to select from grows only as far as the mass asks for. It may begin empty: no rank need be near 0.
  MassPool gather_mass(double wanted) const {
    for (const double reach : {1.0, 2.0, 4.0, 8.0}) {
      MassPool pool = gather(reach);
      if (!pool.members.empty() && pool.mass >= wanted) return pool;
    }
    return gather(std::numeric_limits<double>::infinity());
  }

 private:
  std::span<const float> logits_;
  float peak_;
  Distribution distribution_;
};

void keep_typical(const SamplingParams& params, const StepContext&, CandidateSet& set) {
  const TypicalRanking ranking(set.logits(), set.peak().value);
  const double wanted = static_cast<double>(params.typical_p) * ranking.total();
  MassPool pool = ranking.gather_mass(wanted);
  const RankedMass cut = find_mass_cut(pool.members, wanted);
  set.keep_if(ranking.lowest_logit(cut.rank), [&](std::size_t position) {
    const double rank = ranking.rank(position);
    return rank < cut.rank || (rank == cut.rank && position <= cut.position);
  });
}

}  // namespace

constinit const LogitsProcessor kTypicalP = {
    .name = "typical_p",
    .is_active = [](const SamplingParams& params) { return params.typical_p < 1.0F; },
    .apply = keep_typical,
};

}  // namespace vitrine::sampling
