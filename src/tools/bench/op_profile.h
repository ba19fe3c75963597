#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "explain/cost_meter.h"
#include "models/model.h"

namespace vitrine::tools {

// "matmul", "rms_norm", "attention" ...
std::string_view op_name(ops::OpKind kind);

// All calls of one operation in one section of a decoder, of every layer together.
struct OpCost {
  std::string_view section;  // "embedding", a part of a layer ("norms", "qkv" ...), "head"
  ops::OpKind kind;
  std::size_t num_calls = 0;
  explain::Cost cost;
};

// Sums what the operations of forward passes cost. Given to Model::forward as its observer; used by one thread. It
// costs two looks at the clock for each operation and a kernel's name for each product.
class OpProfile final : public models::ForwardObserver, public ops::OpObserver {
 public:
  explicit OpProfile(std::size_t num_layers) : meter_(num_layers) {}

  void on_values(std::string_view name, std::span<const float> values, std::size_t width) override;
  ops::OpObserver* op_observer() override { return this; }
  void on_op(const ops::OpRecord& op) override;

  // In the order of a pass.
  std::span<const OpCost> ops() const { return ops_; }
  // Of the norm that the network computes for its observer alone; it is in no sum.
  double unwanted_s() const { return unwanted_s_; }

 private:
  explain::CostMeter meter_;
  std::size_t next_layer_ = 0;
  bool is_norm_unwanted_ = false;  // the next one is computed for the observer
  std::vector<OpCost> ops_;
  double unwanted_s_ = 0.0;
};

}  // namespace vitrine::tools
