#include "models/sequence_pass.h"

#include "base/checked.h"

namespace vitrine::models {

SequencePass::SequencePass(const Model& model, Limits limits, std::size_t prompt_tokens, tensor::DType kv_type)
    : model_(model),
      prompt_tokens_(prompt_tokens),
      cache_(kvcache::KvCache::create(model.kv_shape(kv_type), base::ceil_div(limits.max_tokens, kvcache::kBlockTokens))
                 .value_or_throw()),
      workspace_(model.make_workspace(limits.max_chunk_tokens, limits.max_logit_rows)) {
  for (std::size_t i = 0; i < cache_.num_blocks(); ++i)
    block_table_.push_back(static_cast<kvcache::BlockId>(i));
}

void SequencePass::append(std::span<const TokenId> ids, std::size_t num_logit_rows, ForwardObserver* observer) {
  ForwardBatch batch;
  batch.token_ids.assign(ids.begin(), ids.end());
  batch.sequences.push_back({.first_row = 0,
                             .num_rows = ids.size(),
                             .first_position = length_,
                             .prompt_tokens = prompt_tokens_,
                             .block_table = block_table_});
  for (std::size_t i = ids.size() - num_logit_rows; i < ids.size(); ++i)
    batch.logit_rows.push_back(i);
  model_.forward(batch, cache_, *workspace_, observer);
  length_ += ids.size();
}

}  // namespace vitrine::models
