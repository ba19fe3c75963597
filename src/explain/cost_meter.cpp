#include "explain/cost_meter.h"

#include <cmath>

namespace vitrine::explain {
namespace {

double mean_length(std::span<const float> rows, std::size_t width) {
  const std::size_t num_rows = rows.size() / width;
  double sum = 0.0;
  for (std::size_t first = 0; first < rows.size(); first += width) {
    double squares = 0.0;
    for (const float value : rows.subspan(first, width))
      squares += static_cast<double>(value) * static_cast<double>(value);
    sum += std::sqrt(squares);
  }
  return num_rows == 0 ? 0.0 : sum / static_cast<double>(num_rows);
}

}  // namespace

std::string_view layer_part_name(LayerPart part) {
  constexpr std::array<std::string_view, kNumLayerParts> kNames = {"norms",  "qkv",     "attention", "out",
                                                                   "router", "gate_up", "down"};
  return kNames[static_cast<std::size_t>(part)];
}

Cost& Cost::operator+=(const Cost& other) {
  time_s += other.time_s;
  bytes += other.bytes;
  flops += other.flops;
  if (kernel.empty()) kernel = other.kernel;
  return *this;
}

Cost Cost::operator/(double divisor) const {
  return {time_s / divisor, bytes / divisor, flops / divisor, kernel};
}

Cost LayerCost::total() const {
  Cost sum;
  for (const Cost& part : parts)
    sum += part;
  sum.kernel.clear();  // each part has its own
  return sum;
}

Cost PassCost::total() const {
  Cost sum = embedding;
  for (const LayerCost& layer : layers)
    sum += layer.total();
  sum += head;
  sum.kernel.clear();
  return sum;
}

void PassCost::add(const PassCost& pass) {
  num_rows += pass.num_rows;
  num_passes += pass.num_passes;
  embedding += pass.embedding;
  head += pass.head;
  layers.resize(pass.layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (std::size_t part = 0; part < kNumLayerParts; ++part)
      layers[i].parts[part] += pass.layers[i].parts[part];
    layers[i].hidden_norm += pass.layers[i].hidden_norm * static_cast<double>(pass.num_rows);
  }
}

PassCost PassCost::mean() const {
  PassCost mean = *this;
  if (num_passes == 0) return mean;
  const auto passes = static_cast<double>(num_passes);
  mean.num_rows = num_rows / num_passes;
  mean.num_passes = 1;
  mean.embedding = embedding / passes;
  mean.head = head / passes;
  for (LayerCost& layer : mean.layers) {
    for (Cost& part : layer.parts)
      part = part / passes;
    layer.hidden_norm /= static_cast<double>(num_rows);
  }
  return mean;
}

void CostMeter::begin(std::size_t num_rows) {
  pass_ = {.num_rows = num_rows, .num_passes = 1, .embedding = {}, .layers = {}, .head = {}};
  pass_.layers.resize(num_layers_);
  layer_idx_ = 0;
  is_embedded_ = false;
}

void CostMeter::put(LayerPart part, const Cost& cost) {
  last_part_ = part;
  pass_.layers[layer_idx_].parts[static_cast<std::size_t>(part)] += cost;
}

LayerPart CostMeter::part_of_matmul(const ops::OpRecord& op) {
  switch (stage_) {
    case Stage::kBeforeAttention:
      return LayerPart::kQkv;
    case Stage::kAfterAttention:
      stage_ = Stage::kMlp;
      return LayerPart::kOut;
    case Stage::kMlp:
      break;
  }
  const bool opens_mlp = last_part_ == LayerPart::kNorms || last_part_ == LayerPart::kRouter;
  if (op.kind == ops::OpKind::kMatmul && opens_mlp && op.num_outputs == 1) return LayerPart::kRouter;
  return opens_mlp ? LayerPart::kGateUp : LayerPart::kDown;
}

void CostMeter::on_op(const ops::OpRecord& op) {
  using ops::OpKind;
  const Cost cost{op.time_s, static_cast<double>(op.bytes), op.flops, op.kernel};
  if (!is_embedded_) {
    pass_.embedding += cost;
    return;
  }
  if (layer_idx_ == num_layers_) {
    pass_.head += cost;
    return;
  }
  switch (op.kind) {
    case OpKind::kMatmul:
    case OpKind::kExpertMatmul:
      return put(part_of_matmul(op), cost);
    case OpKind::kAttention:
      stage_ = Stage::kAfterAttention;
      return put(LayerPart::kAttention, cost);
    case OpKind::kRope:
    case OpKind::kStoreKv:
      return put(LayerPart::kAttention, cost);
    case OpKind::kRmsNorm:
      // Those of queries and keys stand between their product and the attention.
      return put(stage_ == Stage::kBeforeAttention && last_part_ != LayerPart::kNorms ? LayerPart::kAttention
                                                                                      : LayerPart::kNorms,
                 cost);
    case OpKind::kAdd:
    case OpKind::kEmbed:
      return put(LayerPart::kNorms, cost);
    case OpKind::kActivateAndMultiply:
    case OpKind::kAddBias:
    case OpKind::kCombineExperts:
      return put(last_part_, cost);
  }
}

std::string_view CostMeter::last_section() const {
  if (!is_embedded_) return "embedding";
  return layer_idx_ == num_layers_ ? "head" : layer_part_name(last_part_);
}

void CostMeter::end_layer(std::size_t layer_idx, std::span<const float> hidden, std::size_t width) {
  if (layer_idx > 0) pass_.layers[layer_idx - 1].hidden_norm = mean_length(hidden, width);
  is_embedded_ = true;
  layer_idx_ = layer_idx;
  stage_ = Stage::kBeforeAttention;
  last_part_ = LayerPart::kNorms;
}

}  // namespace vitrine::explain
