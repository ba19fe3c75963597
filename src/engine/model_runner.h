#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/scheduler.h"
#include "kvcache/kv_cache.h"
#include "models/model.h"
#include "sampling/sampler.h"

namespace vitrine::engine {

// The token sampled for a sequence, or why there is none: the fault is that sequence's alone.
struct SampleResult {
  Sequence* sequence = nullptr;
  base::Result<sampling::Sampled> sampled;
};

// Turns scheduled rows into one forward pass and its logits into tokens. Owns the workspace; the model, the cache
// and the heartbeat, which beats as each layer ends, must outlive it. Used by the engine thread alone.
class ModelRunner {
 public:
  struct Limits {
    std::size_t max_rows = 0;       // of one step
    std::size_t max_sequences = 0;  // of one step
  };
  ModelRunner(const models::Model& model, kvcache::KvCache& cache, Limits limits, base::Heartbeat& heartbeat);

  void run(const SchedulerOutput& work, models::ForwardObserver* observer);
  // The next token of each sequence whose rows of the last run reach its end, in their order, made on all of the
  // model's threads. Valid until the next call.
  std::span<const SampleResult> sample(const SchedulerOutput& work);

  std::size_t activation_bytes() const { return workspace_->activation_bytes(); }
  std::size_t scratch_bytes() const { return workspace_->scratch_bytes(); }

 private:
  // One sequence's part of sample(), on whichever thread takes it.
  struct Draw {
    Sequence* sequence = nullptr;
    RequestClock::TimePoint began;
    RequestClock::TimePoint ended;
    std::optional<base::Result<sampling::Sampled>> sampled;
    std::exception_ptr fault;
  };
  void draw(Draw& draw, std::size_t logit_row_idx);
  base::Result<sampling::Sampled> next_token(const Sequence& sequence, std::size_t logit_row_idx);

  void append(const ScheduledRows& rows);
  void pool(const SchedulerOutput& work);
  void charge_forward(const ScheduledRows& rows) const;

  const models::Model& model_;
  kvcache::KvCache& cache_;
  std::unique_ptr<models::Workspace> workspace_;
  models::ForwardBatch batch_;  // kept for its memory
  std::vector<Draw> draws_;
  std::vector<SampleResult> results_;
};

}  // namespace vitrine::engine
