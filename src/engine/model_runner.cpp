#include "engine/model_runner.h"

namespace vitrine::engine {

using trace::Stage;

ModelRunner::ModelRunner(const models::Model& model, kvcache::KvCache& cache, Limits limits, base::Heartbeat& heartbeat)
    : model_(model), cache_(cache), workspace_(model.make_workspace(limits.max_rows, limits.max_sequences)) {
  batch_.heartbeat = &heartbeat;
}

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
  if (rows.samples()) {
    batch_.logit_rows.push_back(batch_.num_rows() - 1);
    batch_.wants_peaks &= sequence.sampler().takes_peak();
  }
  batch_.wants_final_hidden |= sequence.request().pooling != Pooling::kNone;
}

void ModelRunner::run(const SchedulerOutput& work, models::ForwardObserver* observer) {
  batch_.token_ids.clear();
  batch_.sequences.clear();
  batch_.logit_rows.clear();
  batch_.wants_final_hidden = false;
  batch_.wants_peaks = true;
  for (const ScheduledRows& rows : work.rows) {
    append(rows);
    RequestClock& clock = rows.sequence->clock;
    if (!rows.starts) clock.charge_until(Stage::kOther, work.began, "batch");  // else its lookup came after that
    clock.charge(Stage::kSchedule);
  }
  if (work.rows.empty()) return;
  model_.forward(batch_, cache_, *workspace_, observer);
  if (batch_.wants_final_hidden) pool(work);
  for (const ScheduledRows& rows : work.rows) {
    charge_forward(rows);
  }
}

void ModelRunner::pool(const SchedulerOutput& work) {
  for (std::size_t i = 0; i < work.rows.size(); ++i) {
    Sequence& sequence = *work.rows[i].sequence;
    if (sequence.request().pooling == Pooling::kNone) continue;
    const models::SequenceRows& rows = batch_.sequences[i];
    for (std::size_t row = rows.first_row; row < rows.first_row + rows.num_rows; ++row)
      sequence.pool(workspace_->final_hidden(row));
  }
}

void ModelRunner::charge_forward(const ScheduledRows& rows) const {
  const Sequence& sequence = *rows.sequence;
  const bool has_answered = sequence.completion_tokens() > 0;
  RequestClock& clock = rows.sequence->clock;
  clock.charge(has_answered ? Stage::kDecode : Stage::kPrefill);
  if (has_answered) return;
  clock.annotate("first_position", sequence.num_computed());
  clock.annotate("rows", rows.num_rows);
  clock.annotate("rows_of_all", batch_.num_rows());
}

base::Result<sampling::Sampled> ModelRunner::next_token(const Sequence& sequence, std::size_t logit_row_idx) {
  const auto peaks = workspace_->peaks();
  if (!peaks.empty()) return sequence.sampler().choose(peaks[logit_row_idx]);
  return sequence.sample(workspace_->logits(logit_row_idx));
}

void ModelRunner::draw(Draw& draw, std::size_t logit_row_idx) {
  draw.began = std::chrono::steady_clock::now();
  try {
    draw.sampled = next_token(*draw.sequence, logit_row_idx);
  } catch (...) {
    draw.fault = std::current_exception();  // the thread that took it must not end by it
  }
  draw.ended = std::chrono::steady_clock::now();
}

std::span<const SampleResult> ModelRunner::sample(const SchedulerOutput& work) {
  draws_.clear();
  results_.clear();
  for (const ScheduledRows& rows : work.rows) {
    if (rows.samples()) draws_.emplace_back().sequence = rows.sequence;
  }
  model_.for_each(draws_.size(), [this](std::size_t i) { draw(draws_[i], i); });
  for (Draw& draw : draws_) {
    if (draw.fault) std::rethrow_exception(draw.fault);
    RequestClock& clock = draw.sequence->clock;
    clock.charge_until(Stage::kOther, draw.began, "batch");
    clock.charge_until(Stage::kSample, draw.ended);
    results_.push_back({draw.sequence, *std::move(draw.sampled)});
  }
  return results_;
}

}  // namespace vitrine::engine
