#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/observed_backend.h"

namespace vitrine::explain {

// The parts of a decoder's layer, as people call them.
enum class LayerPart : std::uint8_t { kNorms, kQkv, kAttention, kOut, kRouter, kGateUp, kDown };
inline constexpr std::size_t kNumLayerParts = 7;
// "norms", "qkv", "attention", "out", "router", "gate_up", "down"
std::string_view layer_part_name(LayerPart part);

// Time that was measured, and what had to be read and computed in it (ops::OpRecord).
struct Cost {
  double time_s = 0.0;
  double bytes = 0.0;
  double flops = 0.0;
  std::string kernel = {};  // the first one that ran; empty where there is none by name

  Cost& operator+=(const Cost& other);
  Cost operator/(double divisor) const;
};

struct LayerCost {
  std::array<Cost, kNumLayerParts> parts = {};
  double hidden_norm = 0.0;  // length of the residual behind the layer, the mean over rows

  Cost total() const;
};

// Of one forward pass, or the sum or mean over several.
struct PassCost {
  std::size_t num_rows = 0;
  std::size_t num_passes = 0;
  Cost embedding;
  std::vector<LayerCost> layers;  // [num_layers]
  Cost head;                      // final norm and head

  Cost total() const;
  void add(const PassCost& pass);
  PassCost mean() const;  // over the passes; num_rows too
};

// Puts the operations of a forward pass down to the layer and part that they belong to. Used by one thread.
class CostMeter {
 public:
  explicit CostMeter(std::size_t num_layers) : num_layers_(num_layers) { begin(0); }

  // Forgets the pass before.
  void begin(std::size_t num_rows);
  void on_op(const ops::OpRecord& op);
  // The operations since the last call made the embedding (0) or layer `layer_idx` - 1; `hidden` is what they gave,
  // [num_rows, width].
  void end_layer(std::size_t layer_idx, std::span<const float> hidden, std::size_t width);
  const PassCost& pass() const { return pass_; }
  // Where the last operation was put: "embedding", a layer's part by its name, "head".
  std::string_view last_section() const;

 private:
  void put(LayerPart part, const Cost& cost);
  LayerPart part_of_matmul(const ops::OpRecord& op);

  // How far a layer is: each takes its operations in this order.
  enum class Stage : std::uint8_t { kBeforeAttention, kAfterAttention, kMlp };

  std::size_t num_layers_;
  std::size_t layer_idx_ = 0;  // that is being computed; num_layers_: the head
  bool is_embedded_ = false;
  Stage stage_ = Stage::kBeforeAttention;
  LayerPart last_part_ = LayerPart::kNorms;
  PassCost pass_;
};

}  // namespace vitrine::explain
