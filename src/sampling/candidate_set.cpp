#include "sampling/candidate_set.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"
#include "sampling/softmax.h"

namespace vitrine::sampling {
namespace {

constexpr std::size_t kBlock = 1024;  // logits scanned between two looks at the running maximum
constexpr std::int32_t kMinusInfinityKey = static_cast<std::int32_t>(0xFF800000U ^ 0x7FFFFFFFU);
constexpr std::int32_t kPlusInfinityKey = 0x7F800000;

// Integers in the order of the floats, with NaNs outside both infinities: so one pass of integer minimum and maximum,
// which compilers vectorise without -ffast-math, finds the largest logit and every value that is not allowed.
std::int32_t order_key(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}

float from_order_key(std::int32_t key) {
  return std::bit_cast<float>(key ^ ((key >> 31) & 0x7FFFFFFF));
}

struct KeyRange {
  std::int32_t min = std::numeric_limits<std::int32_t>::max();
  std::int32_t max = std::numeric_limits<std::int32_t>::min();
};

KeyRange key_range(std::span<const float> block) {
  KeyRange range;
  for (const float logit : block) {
    const std::int32_t key = order_key(logit);
    range.min = std::min(range.min, key);
    range.max = std::max(range.max, key);
  }
  return range;
}

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

// Collects what beats the floor; each time the pool is full, its best half stays and its worst member is the new floor.
// An equal logit further on loses its tie, hence the strict comparison.
std::vector<Ranked> select_best(std::span<const float> logits, std::size_t count) {
  const std::size_t capacity = std::min(2 * count + 64, logits.size());
  std::vector<Ranked> pool;
  pool.reserve(capacity);
  float floor = -std::numeric_limits<float>::infinity();
  for (std::size_t position = 0; position < logits.size(); ++position) {
    if (!(logits[position] > floor)) continue;
    pool.push_back({logits[position], static_cast<std::uint32_t>(position)});
    if (pool.size() < capacity || capacity <= count) continue;
    keep_best(pool, count);
    floor = pool.back().logit;
  }
  keep_best(pool, count);
  return pool;
}

}  // namespace

std::optional<Peak> find_peak(std::span<const float> logits) {
  float best = -std::numeric_limits<float>::infinity();
  std::size_t best_block = 0;
  for (std::size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const KeyRange range = key_range(logits.subspan(begin, std::min(kBlock, logits.size() - begin)));
    if (range.min < kMinusInfinityKey || range.max >= kPlusInfinityKey) return std::nullopt;
    const float block_best = from_order_key(range.max);
    if (!(block_best > best)) continue;
    best = block_best;
    best_block = begin;
  }
  if (best == -std::numeric_limits<float>::infinity()) return std::nullopt;
  const auto found = std::find(logits.begin() + static_cast<std::ptrdiff_t>(best_block), logits.end(), best);
  return Peak{best, static_cast<std::size_t>(found - logits.begin())};
}

std::vector<std::uint32_t> top_positions(std::span<const float> logits, std::size_t count) {
  if (count == 0) return {};
  std::vector<Ranked> best = select_best(logits, std::min(count, logits.size()));
  std::sort(best.begin(), best.end(), stable_before);
  std::vector<std::uint32_t> positions(best.size());
  std::transform(best.begin(), best.end(), positions.begin(), [](const Ranked& ranked) { return ranked.position; });
  return positions;
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

Peak CandidateSet::peak() {
  VT_CHECK(refresh_peak(), "a candidate set needs one finite logit");
  return *peak_;
}

void CandidateSet::set_logit(std::size_t position, float logit) {
  logits_[position] = std::min(logit, std::numeric_limits<float>::max());
  peak_.reset();
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
  const float peak_logit = peak().logit;
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
