#include <limits>

#include "sampling/history.h"
#include "sampling/logits_processor.h"

namespace vitrine::sampling {
namespace {

void ban(CandidateSet& set, TokenId token) {
  const auto position = set.position_of(token);
  if (position) set.set_logit(*position, -std::numeric_limits<float>::infinity());
}

void ban_repeated_ngrams(const SamplingParams& params, const StepContext& context, CandidateSet& set) {
  const std::span<const TokenId> history = context.history;
  const auto prefix_length = static_cast<std::size_t>(params.no_repeat_ngram_size - 1);
  if (history.empty()) return;
  // Every token follows the empty prefix, the first one too.
  if (prefix_length == 0) ban(set, history.front());
  const std::vector<std::uint32_t> matches = suffix_matches(history);
  for (std::size_t i = 0; i + 1 < history.size(); ++i) {
    if (matches[i] >= prefix_length) ban(set, history[i + 1]);
  }
}

}  // namespace

constinit const LogitsProcessor kNoRepeatNgram = {
    .name = "no_repeat_ngram",
    .is_active = [](const SamplingParams& params) { return params.no_repeat_ngram_size > 0; },
    .apply = ban_repeated_ngrams,
};

}  // namespace vitrine::sampling
