#include <algorithm>
#include <cmath>
#include <limits>

#include "sampling/history.h"
#include "sampling/logits_processor.h"
#include "sampling/token_map.h"

namespace vitrine::sampling {
namespace {

using Breakers = std::vector<std::vector<TokenId>>;

// Length of the longest breaker that `tokens` starts with; 0 for none.
std::size_t longest_breaker_at(std::span<const TokenId> tokens, const Breakers& breakers) {
  std::size_t longest = 0;
  for (const std::vector<TokenId>& breaker : breakers) {
    if (breaker.size() <= longest || breaker.size() > tokens.size()) continue;
    if (std::equal(breaker.begin(), breaker.end(), tokens.begin())) longest = breaker.size();
  }
  return longest;
}

// How many of the newest tokens stand after the newest breaker: no repetition counts for more.
std::size_t longest_allowed_match(std::span<const TokenId> tokens, const Breakers& breakers) {
  for (std::size_t num_newer = 0; num_newer < tokens.size(); ++num_newer) {
    const std::size_t length = longest_breaker_at(tokens.last(num_newer + 1), breakers);
    if (length > 0) return num_newer - (length - 1);
  }
  return tokens.size();
}

bool is_breaker(TokenId token, const Breakers& breakers) {
  return std::any_of(breakers.begin(), breakers.end(),
                     [=](const auto& breaker) { return breaker.size() == 1 && breaker.front() == token; });
}

// The excess of a match over the allowed length at which base^excess still fits a float.
int largest_exponent(float base) {
  constexpr float kLogOfLargestFloat = 88.7228391F;
  return base > 1.000001F ? static_cast<int>(kLogOfLargestFloat / std::log(base)) : std::numeric_limits<int>::max();
}

// Each token that would lengthen a repetition, with the length (plus one, since 0 means "new" to the map).
TokenMap find_repetitions(std::span<const TokenId> tokens, std::size_t max_match, std::size_t allowed_length) {
  const std::vector<std::uint32_t> matches = suffix_matches(tokens);
  TokenMap lengths(tokens.size());
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const std::size_t match = std::min<std::size_t>(matches[i], max_match);
    if (match < allowed_length || tokens[i + 1] < 0) continue;
    int& length = lengths[tokens[i + 1]];
    length = std::max(length, static_cast<int>(match) + 1);
  }
  return lengths;
}

void penalise_repetitions(const SamplingParams& params, const StepContext& context, CandidateSet& set) {
  const std::span<const TokenId> tokens = window(context.history, params.dry_penalty_last_n);
  const auto allowed_length = static_cast<std::size_t>(params.dry_allowed_length);
  if (tokens.size() <= allowed_length) return;
  const std::size_t max_match = longest_allowed_match(tokens, params.dry_sequence_breakers);
  if (max_match < allowed_length) return;
  const int max_exponent = largest_exponent(params.dry_base);
  find_repetitions(tokens, max_match, allowed_length).for_each([&](TokenId token, int length_plus_one) {
    const auto position = set.position_of(token);
    if (!position || is_breaker(token, params.dry_sequence_breakers)) return;
    const int exponent = std::min(length_plus_one - 1 - params.dry_allowed_length, max_exponent);
    const float penalty = params.dry_multiplier * std::pow(params.dry_base, static_cast<float>(exponent));
    set.set_logit(*position, set.logits()[*position] - penalty);
  });
}

}  // namespace

constinit const LogitsProcessor kDry = {
    .name = "dry",
    .is_active =
        [](const SamplingParams& params) {
          return params.dry_multiplier > 0.0F && params.dry_base >= 1.0F && params.dry_penalty_last_n != 0;
        },
    .apply = penalise_repetitions,
};

}  // namespace vitrine::sampling
