#include "tools/bench/op_profile.h"

#include <algorithm>

#include "base/check.h"

namespace vitrine::tools {

std::string_view op_name(ops::OpKind kind) {
  switch (kind) {
    case ops::OpKind::kEmbed:
      return "embed";
    case ops::OpKind::kRmsNorm:
      return "rms_norm";
    case ops::OpKind::kMatmul:
      return "matmul";
    case ops::OpKind::kExpertMatmul:
      return "expert_matmul";
    case ops::OpKind::kCombineExperts:
      return "combine_experts";
    case ops::OpKind::kAdd:
      return "add";
    case ops::OpKind::kAddBias:
      return "add_bias";
    case ops::OpKind::kActivateAndMultiply:
      return "activate_and_multiply";
    case ops::OpKind::kRope:
      return "rope";
    case ops::OpKind::kStoreKv:
      return "store_kv";
    case ops::OpKind::kAttention:
      return "attention";
  }
  VT_CHECK(false, "a kind of operation");
  return {};
}

void OpProfile::on_values(std::string_view name, std::span<const float> /*values*/, std::size_t width) {
  if (name.starts_with("hidden_")) {
    meter_.end_layer(next_layer_, {}, width);
    is_norm_unwanted_ = meter_.pass().layers.size() == next_layer_;
    ++next_layer_;
  } else if (name == "final_norm") {
    is_norm_unwanted_ = false;
  }
}

void OpProfile::on_op(const ops::OpRecord& op) {
  if (op.kind == ops::OpKind::kEmbed) {
    meter_.begin(0);
    next_layer_ = 0;
  }
  if (is_norm_unwanted_) {
    unwanted_s_ += op.time_s;
    return;
  }
  meter_.on_op(op);
  const std::string_view section = meter_.last_section();
  auto found = std::ranges::find_if(
      ops_, [&](const OpCost& known) { return known.kind == op.kind && known.section == section; });
  if (found == ops_.end()) found = ops_.insert(found, {section, op.kind, 0, {}});
  ++found->num_calls;
  found->cost += {op.time_s, static_cast<double>(op.bytes), op.flops, op.kernel};
}

}  // namespace vitrine::tools
