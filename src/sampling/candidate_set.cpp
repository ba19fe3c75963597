#include "sampling/candidate_set.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/order_key.h"
#include "sampling/scan.h"
#include "sampling/softmax.h"

namespace vitrine::sampling {
namespace {

constexpr std::size_t kBlock = 1024;  // logits scanned between two looks at the running maximum

struct Ranked {
  float logit;
  std::uint32_t position;
};

bool stable_before(const Ranked& a, const Ranked& b) {
  if (a.logit != b.logit) return a.logit > b.logit;
  return a.position < b.position;
}

void keep_best(std::vector<Ranked>& pool, std::size_t count) {
  if (pool.size() <= count) return;
  std::nth_element(pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(count - 1), pool.end(), stable_before);
  pool.resize(count);
}

// Collects what beats the floor; each time the pool is full, its best `count` stay and the worst of them is the floor.
class BestPool {
 public:
  BestPool(std::size_t count, std::size_t num_logits) : count_(count), capacity_(std::min(2 * count + 64, num_logits)) {
    pool_.reserve(capacity_);
  }

  float floor() const { return floor_; }

  // An equal logit further on loses its tie with the floor, hence the strict comparison.
  void offer(Ranked candidate) {
    if (!(candidate.logit > floor_)) return;
    pool_.push_back(candidate);
    if (pool_.size() < capacity_ || capacity_ <= count_) return;
    keep_best(pool_, count_);
    floor_ = pool_.back().logit;
  }

  std::vector<Ranked> take() {
    keep_best(pool_, count_);
    std::sort(pool_.begin(), pool_.end(), stable_before);
    return std::move(pool_);
  }

 private:
  std::size_t count_;
  std::size_t capacity_;
  std::vector<Ranked> pool_;
  float floor_ = -std::numeric_limits<float>::infinity();
};

}  // namespace

std::optional<base::RowPeak> find_peak(std::span<const float> logits) {
  const RowKernels& kernels = row_kernels();
  float best = -std::numeric_limits<float>::infinity();
  std::size_t best_block = 0;
  for (std::size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const KeyRange range = kernels.key_range(logits.data() + begin, std::min(kBlock, logits.size() - begin));
    if (base::has_nan_or_infinity(range.min, range.max)) return std::nullopt;
    const float block_best = base::from_order_key(range.max);
    if (!(block_best > best)) continue;
    best = block_best;
    best_block = begin;
  }
  if (best == -std::numeric_limits<float>::infinity()) return std::nullopt;
  const auto found = std::find(logits.begin() + static_cast<std::ptrdiff_t>(best_block), logits.end(), best);
  return base::RowPeak{best, static_cast<std::size_t>(found - logits.begin())};
}

std::vector<std::uint32_t> top_positions(std::span<const float> logits, std::size_t count) {
  if (count == 0) return {};
  BestPool pool(std::min(count, logits.size()), logits.size());
  const RowKernels& kernels = row_kernels();
  for (std::size_t begin = 0; begin < logits.size(); begin += kScanBlock) {
    begin = kernels.find_block(logits.data(), logits.size(), begin, pool.floor());
    for (std::size_t i = begin; i < std::min(begin + kScanBlock, logits.size()); ++i)
      pool.offer({logits[i], static_cast<std::uint32_t>(i)});
  }
  std::vector<std::uint32_t> positions;
  for (const Ranked& ranked : pool.take())
    positions.push_back(ranked.position);
  return positions;
}

float at_least(double bound) {
  const auto rounded = static_cast<float>(bound);
  if (static_cast<double>(rounded) >= bound) return rounded;
  return std::nextafter(rounded, std::numeric_limits<float>::infinity());
}

TokenId CandidateSet::id(std::size_t position) const {
  return has_ids_ ? ids_[position] : static_cast<TokenId>(position);
}

std::optional<std::size_t> CandidateSet::position_of(TokenId id) const {
  if (id < 0) return std::nullopt;
  if (!has_ids_) {
    const auto position = static_cast<std::size_t>(id);
    return position < size() ? std::optional(position) : std::nullopt;
  }
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (found == ids_.end() || *found != id) return std::nullopt;
  return static_cast<std::size_t>(found - ids_.begin());
}

bool CandidateSet::refresh_peak() {
  if (!peak_) peak_ = find_peak(logits_);
  return peak_.has_value();
}

base::RowPeak CandidateSet::peak() {
  VT_CHECK(refresh_peak(), "a candidate set needs one finite logit");
  return *peak_;
}

void CandidateSet::set_logit(std::size_t position, float logit) {
  logits_[position] = std::min(logit, std::numeric_limits<float>::max());
  peak_.reset();
}

void CandidateSet::shift_and_divide(float shift, float divisor) {
  row_kernels().shift_and_divide(logits_.data(), logits_.size(), shift, divisor);
  peak_.reset();
}

void CandidateSet::keep_down_to(std::size_t cut) {
  const std::span<const float> logits = logits_;
  const float cut_logit = logits[cut];
  keep_if(cut_logit, [=](std::size_t position) { return position <= cut || logits[position] > cut_logit; });
}

void CandidateSet::keep_only(std::size_t position) {
  const float logit = logits_[position];
  ids_.assign(1, id(position));
  logits_[0] = logit;
  truncate(1);
}

void CandidateSet::truncate(std::size_t num_kept) {
  VT_CHECK(num_kept > 0, "a processor removed every candidate");
  logits_ = logits_.first(num_kept);
  ids_.resize(num_kept);
  has_ids_ = true;
  peak_.reset();
}

std::vector<Candidate> CandidateSet::most_probable(std::size_t max_count) {
  const float peak_logit = peak().value;
  const double total = sum_exp(logits_, peak_logit);
  std::vector<Candidate> result;
  for (const std::uint32_t position : top_positions(logits_, max_count)) {
    const float logit = logits_[position];
    const double mass = exp_nonpositive(logit - peak_logit);
    result.push_back({id(position), logit, static_cast<float>(mass / total)});
  }
  return result;
}

}  // namespace vitrine::sampling
