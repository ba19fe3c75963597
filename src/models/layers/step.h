#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "models/model.h"
#include "ops/backend.h"

namespace vitrine::models {

// Rows and widths of the buffers that a decoder's forward pass works in, for its largest step.
struct WorkspaceSize {
  struct Buffer {
    std::size_t max_rows = 0;
    std::size_t width = 0;  // floats
  };
  WorkspaceSize(const ModelConfig& config, std::size_t max_rows, std::size_t max_logit_rows);
  std::size_t bytes() const;

  Buffer hidden;          // the residual stream, [max_rows, hidden_size]
  Buffer normed;          // [max_rows, hidden_size]
  Buffer queries;         // [max_rows, num_heads * head_dim]
  Buffer keys;            // [max_rows, num_kv_heads * head_dim]
  Buffer values;          // [max_rows, num_kv_heads * head_dim]
  Buffer attended;        // [max_rows, num_heads * head_dim]
  Buffer gate;            // [max_rows, intermediate_size], or of experts [max_choices, ...]
  Buffer up;              // the same
  Buffer router_logits;   // [max_rows, num_experts]
  Buffer expert_answers;  // [max_choices, hidden_size]; max_choices = max_rows * experts.num_used
  Buffer logit_rows;      // [max_logit_rows, hidden_size]
  Buffer all_logits;      // [max_logit_rows, vocab_size]
};

// Those buffers.
class DecoderWorkspace : public Workspace {
 public:
  explicit DecoderWorkspace(const WorkspaceSize& size);

  std::span<float> logits(std::size_t logit_row_idx) override;
  std::span<const float> final_hidden(std::size_t row_idx) const override;
  std::span<const std::optional<base::RowPeak>> peaks() const override { return found_peaks; }
  std::size_t activation_bytes() const override { return activation_bytes_; }
  std::size_t scratch_bytes() const override { return 0; }

  // Rows of a buffer for a step of num_rows.
  struct Buffer {
    std::unique_ptr<float[]> data;
    std::size_t max_rows = 0;
    std::size_t width = 0;

    explicit Buffer(const WorkspaceSize::Buffer& size);
    ops::Rows rows(std::size_t num_rows) const;
  };

  Buffer hidden, normed, queries, keys, values, attended, gate, up, router_logits, expert_answers, logit_rows,
      all_logits;
  std::vector<std::optional<base::RowPeak>> found_peaks;  // [num_logit_rows], or none
  std::vector<ops::Role> roles;                           // [num_rows]
  std::vector<std::size_t> positions;                     // [num_rows]
  ops::RopeAngles rope;
  ops::RopeAngles local_rope;
  ops::ExpertChoices choices;

 private:
  std::size_t activation_bytes_;
};

// One step as a layer sees it.
struct Step {
  const ModelConfig& config;
  ops::Backend& backend;
  const ForwardBatch& batch;
  kvcache::KvCache& cache;
  DecoderWorkspace& workspace;

  std::size_t num_rows() const { return batch.num_rows(); }
  std::span<const ops::Role> roles() const { return workspace.roles; }
};

}  // namespace vitrine::models
