#include "tools/bench/model_bench.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/checked.h"
#include "plan/kv_layout.h"
#include "plan/speed.h"

namespace vitrine::tools {
namespace {

// Spread over the vocabulary, so that a mixture of experts and the embedding table see no favourite rows.
TokenId arbitrary_token(std::size_t position, std::size_t vocab_size) {
  return static_cast<TokenId>((position * 2654435761U + 12345U) % vocab_size);
}

std::size_t blocks_for(std::size_t num_tokens) {
  return base::ceil_div(std::max<std::size_t>(num_tokens, 1), kvcache::kBlockTokens);
}

}  // namespace

ModelBench::ModelBench(const models::Model& model, const Options& options)
    : model_(model),
      options_(options),
      cache_(
          kvcache::KvCache::create(model.kv_shape(options.kv_type), options.max_batch * blocks_for(options.max_tokens))
              .value_or_throw()),
      workspace_(model.make_workspace(std::max(options.max_chunk_tokens, options.max_batch), options.max_batch)) {
  std::size_t next_block = 0;
  for (std::size_t sequence_idx = 0; sequence_idx < options.max_batch; ++sequence_idx) {
    auto& table = block_tables_.emplace_back(blocks_for(options.max_tokens));
    for (kvcache::BlockId& block : table)
      block = static_cast<kvcache::BlockId>(next_block++);
  }
}

models::SequenceRows ModelBench::rows_of(std::size_t sequence_idx, std::size_t first_position, std::size_t num_rows,
                                         std::size_t prompt_tokens) const {
  return {.first_row = batch_.num_rows(),
          .num_rows = num_rows,
          .first_position = first_position,
          .prompt_tokens = prompt_tokens,
          .block_table = block_tables_[sequence_idx]};
}

void ModelBench::prefill(std::size_t sequence_idx, std::size_t first_position, std::size_t num_tokens) {
  const std::size_t vocab_size = model_.config().vocab_size;
  for (std::size_t done = 0; done < num_tokens;) {
    const std::size_t num_rows = std::min(options_.max_chunk_tokens, num_tokens - done);
    batch_ = {};
    batch_.sequences.push_back(rows_of(sequence_idx, first_position + done, num_rows, first_position + num_tokens));
    for (std::size_t i = 0; i < num_rows; ++i)
      batch_.token_ids.push_back(arbitrary_token(first_position + done + i, vocab_size));
    done += num_rows;
    if (done == num_tokens) batch_.logit_rows.push_back(num_rows - 1);
    model_.forward(batch_, cache_, *workspace_, observer_);
  }
}

void ModelBench::fill(std::size_t batch, std::size_t depth) {
  if (batch <= filled_batch_ && depth <= filled_depth_) return;
  for (std::size_t sequence_idx = 0; sequence_idx < batch; ++sequence_idx)
    prefill(sequence_idx, 0, depth);
  filled_batch_ = batch;
  filled_depth_ = depth;
}

void ModelBench::decode_step(const BenchCase& what, std::size_t step_idx) {
  const std::size_t position = what.depth + step_idx;
  batch_ = {};
  for (std::size_t sequence_idx = 0; sequence_idx < what.batch; ++sequence_idx) {
    batch_.sequences.push_back(rows_of(sequence_idx, position, 1, what.depth));
    batch_.logit_rows.push_back(sequence_idx);
    batch_.token_ids.push_back(arbitrary_token(position + sequence_idx, model_.config().vocab_size));
  }
  model_.forward(batch_, cache_, *workspace_, observer_);
}

double ModelBench::run(const BenchCase& what, models::ForwardObserver* observer) {
  VT_CHECK(what.batch <= options_.max_batch && what.depth + what.num_tokens <= options_.max_tokens,
           "a case that the bench was made for");
  fill(what.batch, what.depth);
  observer_ = observer;
  const auto start = std::chrono::steady_clock::now();
  if (what.phase == BenchPhase::kPrefill) {
    for (std::size_t sequence_idx = 0; sequence_idx < what.batch; ++sequence_idx)
      prefill(sequence_idx, what.depth, what.num_tokens);
  } else {
    for (std::size_t step_idx = 0; step_idx < what.num_tokens; ++step_idx)
      decode_step(what, step_idx);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  observer_ = nullptr;
  // The rows behind `depth` were overwritten; those before it stand.
  filled_depth_ = std::min(filled_depth_, what.depth);
  return seconds.count();
}

double ModelBench::bytes_per_step(const BenchCase& what) const {
  const models::ModelConfig& config = model_.config();
  const plan::KvLayout layout = plan::kv_layout_of(config);
  const std::size_t row_bytes = plan::kv_row_bytes(layout, options_.kv_type).value_or_throw();
  const std::size_t length = what.depth + (what.num_tokens + 1) / 2;
  const auto expert_bytes = static_cast<double>(model_.expert_bytes());
  const plan::StepReads reads{.always_bytes = static_cast<double>(model_.weight_bytes()) - expert_bytes,
                              .expert_bytes = expert_bytes};
  const auto kv_bytes = static_cast<double>(plan::kv_bytes(layout, row_bytes, length));
  return plan::bytes_of_step(reads, config.experts, kv_bytes, what.batch);
}

}  // namespace vitrine::tools
