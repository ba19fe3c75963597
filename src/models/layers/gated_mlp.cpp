#include "models/layers/gated_mlp.h"

#include <array>

namespace vitrine::models {

GatedMlp GatedMlp::load(WeightLoader& weights, const ModelConfig& config, ops::Activation activation,
                        const Names& names) {
  return {Linear::load(weights, names.gate, config.intermediate_size, config.hidden_size),
          Linear::load(weights, names.up, config.intermediate_size, config.hidden_size),
          Linear::load(weights, names.down, config.hidden_size, config.intermediate_size), activation};
}

void GatedMlp::forward(const Step& step, const ops::NormedRows& x, ops::Rows out) const {
  ops::Backend& backend = step.backend;
  const ops::Rows gates = step.workspace.gate.rows(step.num_rows());
  const ops::Rows ups = step.workspace.up.rows(step.num_rows());
  backend.matmul_normed(
      x, out, step.roles(),
      std::array{ops::MatmulOutput{gate.weight.get(), gates}, ops::MatmulOutput{up.weight.get(), ups}});
  gate.add_bias(backend, gates);
  up.add_bias(backend, ups);
  backend.matmul_gated({activation, gates, ups}, step.roles(), std::array{ops::MatmulOutput{down.weight.get(), out}});
  down.add_bias(backend, out);
}

}  // namespace vitrine::models
