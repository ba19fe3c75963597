#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/row_peak.h"
#include "base/token_id.h"
#include "sampling/scan.h"

namespace vitrine::sampling {

struct Candidate {
  TokenId id;
  float logit;
  float probability;
};

// The largest logit, the first of equals. nullopt when a logit is NaN or +inf, or when all are -inf or absent.
std::optional<base::RowPeak> find_peak(std::span<const float> logits);

// Positions of the `count` largest finite logits in stable order: logit descending, then position ascending. Fewer
// where fewer are finite. One pass and a partial selection; never sorts the whole row.
std::vector<std::uint32_t> top_positions(std::span<const float> logits, std::size_t count);

// The least float that is not below `bound`: for a float x, x >= bound and x >= at_least(bound) are the same.
float at_least(double bound);

// The tokens still in play for one step, always in order of id, so that "position ascending" is "id ascending". Works
// in place on the caller's row of logits: survivors move to the front. At least one candidate has a finite logit;
// tokens banned by a processor have -inf. Owned by one call of the sampler.
class CandidateSet {
 public:
  // `peak` is that of `logits`, as find_peak() gave it.
  CandidateSet(std::span<float> logits, base::RowPeak peak) : logits_(logits), peak_(peak) {}

  std::size_t size() const { return logits_.size(); }
  std::span<const float> logits() const { return logits_; }
  TokenId id(std::size_t position) const;
  // nullopt for a token that is no longer, or never was, in play.
  std::optional<std::size_t> position_of(TokenId id) const;

  // False once every token is banned; then no other member may be called.
  bool any_allowed() { return refresh_peak(); }
  // The most probable candidate. Kept until a logit changes.
  base::RowPeak peak();

  // Values above the largest float become it: a logit is never +inf.
  void set_logit(std::size_t position, float logit);
  // logit = (logit - shift) / divisor, which is positive
  void shift_and_divide(float shift, float divisor);

  // Keeps the candidates with a logit >= lowest for which keep(position) is true: at least one with a finite logit.
  template <typename Keep>
  void keep_if(float lowest, Keep keep);
  void keep_from(float lowest) {
    keep_if(lowest, [](std::size_t) { return true; });
  }
  // Keeps the candidate at position `cut` and all before it in stable order.
  void keep_down_to(std::size_t cut);
  void keep_only(std::size_t position);

  // The `max_count` most probable in stable order, with their probabilities among all survivors.
  std::vector<Candidate> most_probable(std::size_t max_count);

 private:
  bool refresh_peak();
  void truncate(std::size_t num_kept);

  std::span<float> logits_;
  std::vector<TokenId> ids_;  // of the survivors; unused while every token is in play
  bool has_ids_ = false;
  std::optional<base::RowPeak> peak_;
};

template <typename Keep>
void CandidateSet::keep_if(float lowest, Keep keep) {
  std::size_t num_kept = 0;
  for_each_at_least(logits_, lowest, [&](std::size_t position) {
    if (!keep(position)) return;
    logits_[num_kept] = logits_[position];
    if (has_ids_) {
      ids_[num_kept] = ids_[position];
    } else {
      ids_.push_back(static_cast<TokenId>(position));
    }
    ++num_kept;
  });
  truncate(num_kept);
}

}  // namespace vitrine::sampling
