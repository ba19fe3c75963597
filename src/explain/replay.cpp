#include "explain/replay.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/checked.h"
#include "base/elapsed.h"

namespace vitrine::explain {
namespace {

std::size_t layer_of(std::string_view hidden_name) {
  std::size_t layer = 0;
  std::from_chars(hidden_name.data(), hidden_name.data() + hidden_name.size(), layer);
  return layer;
}

Lens::Cell most_probable(std::span<const float> logits) {
  const auto peak = std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float logit : logits)
    sum += std::exp(static_cast<double>(logit - *peak));
  return {static_cast<TokenId>(peak - logits.begin()), 1.0 / sum};
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// The softmax of scale * query . key over keys [num_keys, head_dim].
void append_softmax(std::span<const float> query, std::span<const float> keys, float scale,
                    std::vector<float>& weights) {
  std::vector<double> scores;
  for (std::size_t first = 0; first < keys.size(); first += query.size())
    scores.push_back(static_cast<double>(scale) * dot(query, keys.subspan(first, query.size())));
  const double peak = *std::ranges::max_element(scores);
  double sum = 0.0;
  for (double& score : scores)
    sum += score = std::exp(score - peak);
  for (const double score : scores)
    weights.push_back(static_cast<float>(score / sum));
}

}  // namespace

// Keeps what a forward pass shows.
class Replay::Watch final : public models::ForwardObserver, public ops::OpObserver {
 public:
  Watch(Replay& replay, std::size_t num_rows) : replay_(replay), meter_(replay.model_.config().num_layers) {
    meter_.begin(num_rows);
  }

  void on_values(std::string_view name, std::span<const float> values, std::size_t width) override {
    constexpr std::string_view kHidden = "hidden_";
    if (!name.starts_with(kHidden)) return;
    const std::size_t layer = layer_of(name.substr(kHidden.size()));
    meter_.end_layer(layer, values, width);
    replay_.hidden_[layer].insert(replay_.hidden_[layer].end(), values.begin(), values.end());
  }
  ops::OpObserver* op_observer() override { return this; }

  void on_op(const ops::OpRecord& op) override { meter_.on_op(op); }
  void on_attention(ops::Rows queries, const ops::AttentionShape& shape,
                    const ops::AttentionContext& context) override {
    LayerQueries& kept = replay_.queries_[context.layer_idx];
    kept.values.insert(kept.values.end(), queries.values().begin(), queries.values().end());
    kept.scale = shape.scale;
    kept.window = shape.window;
  }

  const PassCost& cost() const { return meter_.pass(); }

 private:
  Replay& replay_;
  CostMeter meter_;
};

std::size_t Replay::bytes_for(const models::Model& model, std::size_t num_positions, const Settings& settings) {
  const models::ModelConfig& config = model.config();
  const std::size_t row_floats =
      (config.num_layers + 1) * config.hidden_size + config.num_layers * config.num_heads * config.head_dim;
  const std::size_t num_blocks = base::ceil_div(num_positions, kvcache::kBlockTokens);
  const std::size_t kv = num_blocks * kvcache::block_bytes(model.kv_shape(settings.kv_type)).value_or_throw();
  return num_positions * row_floats * sizeof(float) + kv + kMaxLensPositions * config.vocab_size * sizeof(float);
}

base::Result<std::unique_ptr<Replay>> Replay::create(const models::Model& model, Recording recording,
                                                     const Settings& settings) {
  const models::ModelConfig& config = model.config();
  const std::size_t num_positions = recording.num_positions();
  if (recording.prompt.empty() || num_positions > config.context_length)
    return base::usage_error(
        fmt::format("a replay of {} tokens: from 1 to the context of {}", num_positions, config.context_length));
  const auto is_known = [&](TokenId id) { return id >= 0 && static_cast<std::size_t>(id) < config.vocab_size; };
  if (!std::ranges::all_of(recording.prompt, is_known) || !std::ranges::all_of(recording.answer, is_known))
    return base::usage_error("a replay of tokens that the vocabulary does not have");
  if (const std::size_t bytes = bytes_for(model, num_positions, settings); bytes > settings.max_bytes)
    return base::Error{
        base::ErrorKind::kNoMemory,
        fmt::format("an X-ray of {} tokens holds {:.0f} MB, and {:.0f} MB are allowed; use a shorter "
                    "prompt or answer",
                    num_positions, static_cast<double>(bytes) / 1e6, static_cast<double>(settings.max_bytes) / 1e6)};
  return std::unique_ptr<Replay>(new Replay(model, std::move(recording), settings));
}

Replay::Replay(const models::Model& model, Recording recording, const Settings& settings)
    : model_(model),
      recording_(std::move(recording)),
      settings_(settings),
      tokens_(recording_.prompt),
      sampler_(recording_.sampling),
      pass_(model, {recording_.num_positions(), settings.max_chunk_tokens, kMaxLensPositions}, recording_.prompt.size(),
            settings.kv_type),
      hidden_(model.config().num_layers + 1),
      queries_(model.config().num_layers) {
  tokens_.insert(tokens_.end(), recording_.answer.begin(), recording_.answer.end());
  const std::size_t num_positions = recording_.num_positions();
  for (std::vector<float>& layer : hidden_)
    layer.reserve(num_positions * model.config().hidden_size);
  for (LayerQueries& layer : queries_)
    layer.values.reserve(num_positions * model.config().num_heads * model.config().head_dim);
}

std::span<const TokenId> Replay::history(std::size_t step) const {
  return std::span(tokens_).first(recording_.prompt.size() + step);
}

bool Replay::advance() {
  if (has_ended()) return false;
  const auto began = std::chrono::steady_clock::now();
  const std::size_t first = pass_.length();
  const std::size_t prompt_left = recording_.prompt.size() - std::min(first, recording_.prompt.size());
  const bool is_prompt = prompt_left > 0;
  const std::size_t num_rows = is_prompt ? std::min(prompt_left, settings_.max_chunk_tokens) : 1;
  const bool gives_token = num_rows >= prompt_left && !recording_.answer.empty();
  Watch watch(*this, num_rows);
  pass_.append(std::span<const TokenId>(tokens_).subspan(first, num_rows), gives_token ? 1 : 0, &watch);
  (is_prompt ? prefill_ : decode_).add(watch.cost());
  if (gives_token) choose(first + num_rows - recording_.prompt.size());
  wall_s_ += base::seconds_since(began);
  return !has_ended();
}

void Replay::choose(std::size_t step) {
  auto explanation = sampler_.explain(pass_.logits(0), history(step), step, settings_.max_candidates);
  choices_.push_back(std::move(explanation).value_or_throw());
}

std::optional<std::size_t> Replay::first_difference() const {
  for (std::size_t step = 0; step < choices_.size(); ++step) {
    if (choices_[step].chosen != recording_.answer[step]) return step;
  }
  return std::nullopt;
}

std::span<const float> Replay::hidden(std::size_t layer_idx, std::size_t position) const {
  const std::size_t width = model_.config().hidden_size;
  return std::span(hidden_[layer_idx]).subspan(position * width, width);
}

std::span<const float> Replay::logits(std::size_t step) {
  VT_CHECK(step < recording_.answer.size(), "a token of the answer");
  pass_.score(hidden(model_.config().num_layers, recording_.prompt.size() - 1 + step));
  return pass_.logits(0);
}

Lens Replay::lens(std::size_t first, std::size_t count) {
  VT_CHECK(count > 0 && count <= kMaxLensPositions && first + count <= pass_.length(), "positions of the replay");
  const std::size_t width = model_.config().hidden_size;
  Lens lens{.first = first, .layers = {}};
  for (const std::vector<float>& layer : hidden_) {
    pass_.score(std::span(layer).subspan(first * width, count * width));
    std::vector<Lens::Cell>& cells = lens.layers.emplace_back();
    for (std::size_t i = 0; i < count; ++i)
      cells.push_back(most_probable(pass_.logits(i)));
  }
  return lens;
}

// [num_positions, head_dim]
std::vector<float> Replay::keys(std::size_t layer_idx, std::size_t kv_head_idx) const {
  const std::size_t head_dim = model_.config().head_dim;
  std::vector<float> keys(pass_.length() * head_dim);
  for (std::size_t position = 0; position < pass_.length(); ++position) {
    const kvcache::BlockId block = pass_.block_table()[position / kvcache::kBlockTokens];
    pass_.cache().read_key(layer_idx, block, kv_head_idx, position % kvcache::kBlockTokens,
                           std::span(keys).subspan(position * head_dim, head_dim));
  }
  return keys;
}

std::vector<float> Replay::attention_weights(std::size_t layer_idx, std::size_t head_idx) const {
  const models::ModelConfig& config = model_.config();
  VT_CHECK(has_ended() && layer_idx < config.num_layers && head_idx < config.num_heads, "a head of an ended replay");
  const LayerQueries& queries = queries_[layer_idx];
  const std::vector<float> all_keys = keys(layer_idx, head_idx / (config.num_heads / config.num_kv_heads));
  std::vector<float> weights;
  weights.reserve(pass_.length() * (pass_.length() + 1) / 2);
  for (std::size_t position = 0; position < pass_.length(); ++position) {
    const std::size_t query_row = position * config.num_heads + head_idx;
    const std::span<const float> query =
        std::span(queries.values).subspan(query_row * config.head_dim, config.head_dim);
    const std::size_t begin = queries.window == 0 || position < queries.window ? 0 : position + 1 - queries.window;
    weights.insert(weights.end(), begin, 0.0F);
    append_softmax(query,
                   std::span(all_keys).subspan(begin * config.head_dim, (position + 1 - begin) * config.head_dim),
                   queries.scale, weights);
  }
  return weights;
}

std::vector<float> Replay::attention_weights(std::size_t layer_idx) const {
  std::vector<float> all;
  for (std::size_t head = 0; head < model_.config().num_heads; ++head) {
    const std::vector<float> weights = attention_weights(layer_idx, head);
    all.insert(all.end(), weights.begin(), weights.end());
  }
  return all;
}

}  // namespace vitrine::explain
