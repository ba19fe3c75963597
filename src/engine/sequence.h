#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/request.h"
#include "engine/request_clock.h"
#include "kvcache/block_table.h"
#include "kvcache/prefix_index.h"
#include "sampling/sampler.h"

namespace vitrine::engine {

// The order in which requests are served: those in the background last, by priority, then by arrival. The first one is
// never preempted, unless it is in the background.
struct QueueKey {
  bool background = false;
  int priority = 0;
  RequestId id{};

  bool ranks_with(const QueueKey& other) const { return background == other.background && priority == other.priority; }
  friend bool operator<(const QueueKey& a, const QueueKey& b) {
    if (a.background != b.background) return b.background;
    return a.priority != b.priority ? a.priority > b.priority : a.id < b.id;
  }
};

// The progress of one request. Wanted are the keys and values of every token it has; computed are the first
// num_computed. It catches up, then a new token is sampled: there are no prefill and decode phases.
// Invariants: num_computed <= num_tokens(); positions below num_computed lie in `table`. Built on the client's thread,
// then owned by the engine thread alone.
class Sequence {
 public:
  struct Setup {
    RequestId id{};
    Request request;
    EventCallback callback;
    trace::Timeline* timeline = nullptr;
    std::vector<kvcache::PrefixDigest> prefix_digests;  // empty: takes no part in prefix caching
    std::size_t max_total_tokens = 0;                   // prompt and answer together
  };
  explicit Sequence(Setup setup);

  const Request& request() const { return setup_.request; }
  RequestId id() const { return setup_.id; }
  QueueKey key() const { return {request().background, request().priority, id()}; }
  kvcache::PrefixView prefix() const { return {tokens_, setup_.prefix_digests}; }

  std::span<const TokenId> tokens() const { return tokens_; }  // prompt, then what was generated
  std::size_t num_tokens() const { return tokens_.size(); }
  std::size_t prompt_tokens() const { return request().prompt.size(); }
  std::size_t completion_tokens() const { return num_tokens() - prompt_tokens(); }
  std::size_t num_computed() const { return num_computed_; }
  std::size_t num_pending() const { return num_tokens() - num_computed_; }
  bool next_is_generated() const { return num_computed_ >= prompt_tokens(); }
  bool has_started() const { return cached_tokens_.has_value(); }
  // That it can come to have: prompt and longest answer.
  std::size_t most_tokens() const;
  bool wants_token() const { return request().max_tokens != std::size_t{0}; }

  // Whether the client is told why no more of its prompt was cached.
  bool wants_explanation() const {
    return setup_.timeline != nullptr && !setup_.prefix_digests.empty() && !has_started();
  }
  void explain(const kvcache::PrefixExplanation& prefix) { prefix_explanation_ = prefix; }
  // Cached positions count as computed. Called at each admission; what a client is told is the first one's.
  void start(std::size_t num_cached);
  // Returns how many of the rows were computed for the first time.
  std::size_t advance(std::size_t num_rows);
  void restart();  // its blocks were taken away, or what they hold is to be forgotten
  // Takes the hidden states of the next rows, one after the other, before advance().
  void pool(std::span<const float> hidden);
  // Of what was pooled, with length 1; empty without pooling. Not finite where the hidden states were not.
  std::vector<float> embedding() const;
  // While paused it gets no rows.
  bool is_paused() const { return is_paused_; }
  void set_paused(bool is_paused) { is_paused_ = is_paused; }
  base::Result<sampling::Sampled> sample(std::span<float> logits) const;
  const sampling::Sampler& sampler() const { return sampler_; }
  // Takes the sampled token; the reason when it is the last one.
  std::optional<FinishReason> append(TokenId token);
  // Names the block that the last token fills, so that the answer can be published too.
  void extend_prefix();
  // An event with the counts and times filled in, sent to the client.
  void send(TokenEvent event);
  // Whether the client is to be told how far its request is.
  bool wants_progress() const { return request().progress && completion_tokens() == 0; }
  // Tells it, where there is news since the last time. `num_ahead`: absent once it runs.
  void tell_progress(std::optional<std::size_t> num_ahead = {});

  kvcache::BlockTable table;
  RequestClock clock;

 private:
  bool ends_with(TokenId token) const;
  void fill_counts(TokenEvent& event) const;

  Setup setup_;
  sampling::Sampler sampler_;
  std::vector<TokenId> tokens_;
  std::vector<double> pooled_;  // the sum, or the last
  std::size_t num_computed_ = 0;
  std::size_t num_ever_computed_ = 0;
  bool is_paused_ = false;
  std::optional<std::size_t> cached_tokens_;
  std::optional<kvcache::PrefixExplanation> prefix_explanation_;
  std::optional<Progress> told_progress_;
};

}  // namespace vitrine::engine
