#include "models/layers/expert_mlp.h"

#include <array>

namespace vitrine::models {

ExpertMlp ExpertMlp::load(WeightLoader& weights, const ModelConfig& config, const Names& names) {
  const auto [num_experts, num_used, width, normalize] = config.experts;
  return {weights.matrix(names.router + ".weight", num_experts, config.hidden_size, ops::MatrixUse::kHead),
          weights.experts(names.gate, num_experts, width, config.hidden_size),
          weights.experts(names.up, num_experts, width, config.hidden_size),
          weights.experts(names.down, num_experts, config.hidden_size, width)};
}

void ExpertMlp::forward(const Step& step, const ops::NormedRows& x, ops::Rows out) const {
  ops::Backend& backend = step.backend;
  DecoderWorkspace& workspace = step.workspace;
  const ExpertConfig& experts = step.config.experts;
  const ops::Rows normed = out;  // which the router and the experts read; the answers come to it last
  backend.rms_norm(x.x, x.weight, x.eps, normed);
  const ops::Rows logits = workspace.router_logits.rows(step.num_rows());
  backend.matmul(normed, step.roles(), std::array{ops::MatmulOutput{router.get(), logits}});
  ops::ExpertChoices& choices = workspace.choices;
  ops::choose_experts(logits, {.num_chosen = experts.num_used, .normalize = experts.normalize_weights}, choices);

  const ops::Rows gates = workspace.gate.rows(choices.num_choices());
  const ops::Rows ups = workspace.up.rows(choices.num_choices());
  const ops::Rows answers = workspace.expert_answers.rows(choices.num_choices());
  backend.expert_matmul(normed, step.roles(), choices,
                        std::array{ops::ExpertOutput{gate, gates}, ops::ExpertOutput{up, ups}});
  backend.activate_and_multiply(ops::Activation::kSilu, gates, ups);
  backend.expert_matmul(gates, step.roles(), choices, std::array{ops::ExpertOutput{down, answers}});
  backend.combine_experts(answers, choices, out);
}

}  // namespace vitrine::models
