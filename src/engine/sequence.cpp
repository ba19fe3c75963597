#include "engine/sequence.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vitrine::engine {

Sequence::Sequence(Setup setup)
    : clock(setup.timeline),
      setup_(std::move(setup)),
      sampler_(setup_.request.sampling),
      tokens_(setup_.request.prompt) {}

void Sequence::start(std::size_t num_cached) {
  num_computed_ = num_cached;
  num_ever_computed_ = std::max(num_ever_computed_, num_cached);
  if (!cached_tokens_) cached_tokens_ = num_cached;
}

std::size_t Sequence::advance(std::size_t num_rows) {
  num_computed_ += num_rows;
  const std::size_t before = std::exchange(num_ever_computed_, std::max(num_ever_computed_, num_computed_));
  return num_ever_computed_ - before;
}

std::size_t Sequence::most_tokens() const {
  const std::size_t room = setup_.max_total_tokens - prompt_tokens();
  return prompt_tokens() + std::min(request().max_tokens.value_or(room), room);
}

void Sequence::restart() {
  num_computed_ = 0;
  pooled_.clear();
}

void Sequence::pool(std::span<const float> hidden) {
  if (request().pooling == Pooling::kLast) pooled_.clear();
  pooled_.resize(hidden.size());
  for (std::size_t i = 0; i < hidden.size(); ++i)
    pooled_[i] += static_cast<double>(hidden[i]);
}

std::vector<float> Sequence::embedding() const {
  // The length of a mean and of a sum differ by a factor that scaling to 1 takes away.
  double squares = 0.0;
  for (const double value : pooled_)
    squares += value * value;
  std::vector<float> scaled(pooled_.size());
  std::ranges::transform(pooled_, scaled.begin(),
                         [length = std::sqrt(squares)](double value) { return static_cast<float>(value / length); });
  return scaled;
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

void Sequence::extend_prefix() {
  if (setup_.prefix_digests.empty() || num_tokens() % kvcache::kBlockTokens != 0) return;
  const auto block = tokens().last(kvcache::kBlockTokens);
  setup_.prefix_digests.push_back(kvcache::prefix_digests(setup_.prefix_digests.back(), block).back());
}

bool Sequence::ends_with(TokenId token) const {
  const auto has = [token](const std::vector<TokenId>& ids) { return std::ranges::find(ids, token) != ids.end(); };
  return has(request().stop_tokens) || (!request().ignore_eos && has(request().eog_tokens));
}

void Sequence::fill_counts(TokenEvent& event) const {
  event.request = id();
  event.prompt_tokens = prompt_tokens();
  event.completion_tokens = completion_tokens();
  event.cached_tokens = cached_tokens_.value_or(0);
  event.prefix = prefix_explanation_;
  event.timings = clock.timings();
}

// Charged to what it does next: a span for each would fill the timeline of a request that waits for minutes.
void Sequence::tell_progress(std::optional<std::size_t> num_ahead) {
  const Progress progress{.is_running = !num_ahead,
                          .num_ahead = num_ahead.value_or(0),
                          .computed_tokens = num_computed(),
                          .prompt_tokens = prompt_tokens(),
                          .cached_tokens = cached_tokens_.value_or(0)};
  if (!setup_.callback || told_progress_ == progress) return;
  told_progress_ = progress;
  TokenEvent event;
  event.progress = progress;
  fill_counts(event);
  setup_.callback(event);
}

void Sequence::send(TokenEvent event) {
  if (!setup_.callback) return;
  fill_counts(event);
  if (event.finish_reason) return setup_.callback(event);  // whoever owns the timeline has it back
  clock.charge_callback([&] { setup_.callback(event); });
}

}  // namespace vitrine::engine
