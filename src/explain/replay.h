#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "explain/cost_meter.h"
#include "models/sequence_pass.h"
#include "sampling/sampler.h"

namespace vitrine::explain {

// What of a request is needed to compute it once more: a position's bits depend on nothing else.
struct Recording {
  std::vector<TokenId> prompt;
  std::vector<TokenId> answer;        // with the token that ended it
  sampling::SamplingParams sampling;  // with the seed that was used

  // Positions whose keys and values were computed: the last token is only said.
  std::size_t num_positions() const { return prompt.size() + answer.size() - (answer.empty() ? 0 : 1); }
};

// What the layers say at some positions (nostalgebraist, "interpreting GPT: the logit lens", 2020): the token that
// the final norm and the head make of the residual as it leaves each layer.
struct Lens {
  struct Cell {
    TokenId id;
    double probability;
  };
  std::size_t first = 0;                  // position
  std::vector<std::vector<Cell>> layers;  // [num_layers + 1][num_positions]; layer 0 is the embedding
};

// A request computed again with everything watched: what each layer cost and gave, and why each token was chosen. Its
// steps are small, so that they fit between those of an engine that uses the same backend; all calls that compute
// (advance, logits, lens) belong to the thread that has the backend.
class Replay {
 public:
  struct Settings {
    tensor::DType kv_type = tensor::DType::kF16;
    std::size_t max_chunk_tokens = 64;  // of one step
    std::size_t max_bytes = 0;          // that it may hold
    std::size_t max_candidates = 24;    // of each choice
  };
  static constexpr std::size_t kMaxLensPositions = 32;  // of one call

  // The model must outlive it. Fails with kNoMemory where it would hold more than it may, with kUsage where a token
  // lies outside the vocabulary or there are more tokens than the context holds.
  static base::Result<std::unique_ptr<Replay>> create(const models::Model& model, Recording recording,
                                                      const Settings& settings);
  // What it holds for a number of positions.
  static std::size_t bytes_for(const models::Model& model, std::size_t num_positions, const Settings& settings);

  // Computes the next part; false when there is none left. Throws base::Exception (kInternal) on a numerical error.
  bool advance();
  bool has_ended() const { return pass_.length() == recording_.num_positions(); }

  const models::Model& model() const { return model_; }
  const Recording& recording() const { return recording_; }
  const Settings& settings() const { return settings_; }
  std::size_t size_bytes() const { return bytes_for(model_, recording_.num_positions(), settings_); }
  // Seconds that the forward passes took, and choosing.
  double wall_s() const { return wall_s_; }
  const PassCost& prefill() const { return prefill_; }  // the sum over its parts
  const PassCost& decode() const { return decode_; }    // the sum over generated positions
  // Of each token of the answer.
  const std::vector<sampling::Explanation>& choices() const { return choices_; }
  // The first token of the answer that these logits do not give; nullopt: the same bits came out.
  std::optional<std::size_t> first_difference() const;

  // The residual as it leaves a layer, [hidden_size]; layer 0 is the embedding, num_layers the last.
  std::span<const float> hidden(std::size_t layer_idx, std::size_t position) const;
  // The model's logits for a token of the answer, [vocab_size]; valid until the next call that computes.
  std::span<const float> logits(std::size_t step);
  // At most kMaxLensPositions from a computed position on.
  Lens lens(std::size_t first, std::size_t count);
  // How much a head of a layer looks at each position: [T * (T + 1) / 2] for T positions, row by row, each row summing
  // to 1 over the positions up to its own. Computed here from the same queries and keys, in double. May run on any
  // thread once the replay has ended.
  std::vector<float> attention_weights(std::size_t layer_idx, std::size_t head_idx) const;
  // The same of all heads, one behind the other.
  std::vector<float> attention_weights(std::size_t layer_idx) const;

 private:
  class Watch;
  Replay(const models::Model& model, Recording recording, const Settings& settings);

  std::span<const TokenId> history(std::size_t step) const;
  void choose(std::size_t step);
  std::vector<float> keys(std::size_t layer_idx, std::size_t kv_head_idx) const;

  struct LayerQueries {
    std::vector<float> values;  // [num_positions, num_heads * head_dim], rotated
    float scale = 0.0F;
    std::size_t window = 0;
  };

  const models::Model& model_;
  Recording recording_;
  Settings settings_;
  std::vector<TokenId> tokens_;  // prompt, then answer
  sampling::Sampler sampler_;
  models::SequencePass pass_;
  std::vector<std::vector<float>> hidden_;  // [num_layers + 1][num_positions * hidden_size]
  std::vector<LayerQueries> queries_;       // [num_layers]
  std::vector<sampling::Explanation> choices_;
  PassCost prefill_;
  PassCost decode_;
  double wall_s_ = 0.0;
};

}  // namespace vitrine::explain
