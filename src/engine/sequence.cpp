#include "engine/sequence.h"

#include <algorithm>
#include <utility>

namespace vitrine::engine {

Sequence::Sequence(Setup setup)
    : clock(setup.timeline),
      setup_(std::move(setup)),
      sampler_(setup_.request.sampling),
      tokens_(setup_.request.prompt) {}

void Sequence::start(std::size_t num_cached) {
  num_computed_ = num_cached;
  if (!cached_tokens_) cached_tokens_ = num_cached;
}

base::Result<sampling::Sampled> Sequence::sample(std::span<float> logits) const {
  return sampler_.sample(logits, tokens_, completion_tokens());
}

std::optional<FinishReason> Sequence::append(TokenId token) {
  tokens_.push_back(token);
  if (ends_with(token)) return FinishReason::kStop;
  const bool reached_limit = request().max_tokens && completion_tokens() >= *request().max_tokens;
  if (reached_limit || num_tokens() >= setup_.max_total_tokens) return FinishReason::kLength;
  return std::nullopt;
}

bool Sequence::ends_with(TokenId token) const {
  const auto has = [token](const std::vector<TokenId>& ids) { return std::ranges::find(ids, token) != ids.end(); };
  return has(request().stop_tokens) || (!request().ignore_eos && has(request().eog_tokens));
}

void Sequence::send(TokenEvent event) const {
  if (!setup_.callback) return;
  event.request = id();
  event.prompt_tokens = prompt_tokens();
  event.completion_tokens = completion_tokens();
  event.cached_tokens = cached_tokens_.value_or(0);
  event.timings = clock.timings();
  setup_.callback(event);
}

}  // namespace vitrine::engine
