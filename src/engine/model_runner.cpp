#include "engine/model_runner.h"

namespace vitrine::engine {

ModelRunner::ModelRunner(const models::Model& model, kvcache::KvCache& cache, Limits limits)
    : model_(model), cache_(cache), workspace_(model.make_workspace(limits.max_rows, limits.max_sequences)) {}

void ModelRunner::append(const ScheduledRows& rows) {
  const Sequence& sequence = *rows.sequence;
  const auto tokens = sequence.tokens().subspan(sequence.num_computed(), rows.num_rows);
  batch_.sequences.push_back({
      .first_row = batch_.num_rows(),
      .num_rows = rows.num_rows,
      .first_position = sequence.num_computed(),
      .prompt_tokens = sequence.prompt_tokens(),
      .block_table = sequence.table.blocks(),
  });
  batch_.token_ids.insert(batch_.token_ids.end(), tokens.begin(), tokens.end());
  if (rows.samples()) batch_.logit_rows.push_back(batch_.num_rows() - 1);
}

void ModelRunner::run(std::span<const ScheduledRows> rows, models::ForwardObserver* observer) {
  batch_.token_ids.clear();
  batch_.sequences.clear();
  batch_.logit_rows.clear();
  for (const ScheduledRows& scheduled : rows) {
    append(scheduled);
    scheduled.sequence->clock.charge(scheduled.starts ? &RequestTimings::queue_s : &RequestTimings::other_s);
  }
  if (rows.empty()) return;
  model_.forward(batch_, cache_, *workspace_, observer);
  for (const auto& scheduled : rows) {
    const bool has_answered = scheduled.sequence->completion_tokens() > 0;
    scheduled.sequence->clock.charge(has_answered ? &RequestTimings::decode_s : &RequestTimings::prefill_s);
  }
}

std::span<const SampleResult> ModelRunner::sample(std::span<const ScheduledRows> rows) {
  results_.clear();
  for (const ScheduledRows& scheduled : rows) {
    if (!scheduled.samples()) continue;
    Sequence& sequence = *scheduled.sequence;
    sequence.clock.charge(&RequestTimings::other_s);
    results_.push_back({&sequence, sequence.sample(workspace_->logits(results_.size()))});
    sequence.clock.charge(&RequestTimings::sample_s);
  }
  return results_;
}

}  // namespace vitrine::engine
