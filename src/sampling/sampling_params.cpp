#include "sampling/sampling_params.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sampling/parameter_table.h"

namespace vitrine::sampling {
namespace {

using base::usage_error;

base::Result<void> validate_scalars(const SamplingParams& params) {
  for (const ParameterRow& row : parameter_rows()) {
    const bool is_seed = std::holds_alternative<std::optional<std::uint64_t> SamplingParams::*>(row.member);
    if (is_seed) continue;  // any 64 bits are a seed
    const double value = *row.value(params);
    if (value >= static_cast<double>(static_cast<float>(row.min)) && value <= row.max) continue;
    return usage_error(
        fmt::format("{}: {} is not allowed; it must be {}", row.field, static_cast<float>(value), row.range()));
  }
  if (params.top_logprobs > 0 && !params.logprobs) {
    return usage_error("top_logprobs: needs logprobs; set logprobs to true");
  }
  return {};
}

base::Result<void> validate_token(std::string_view field, TokenId id, std::size_t vocab_size) {
  if (id >= 0 && static_cast<std::size_t>(id) < vocab_size) return {};
  return usage_error(
      fmt::format("{}: token {} is not in the vocabulary; ids go from 0 to {}", field, id, vocab_size - 1));
}

base::Result<void> validate_biases(const SamplingParams& params, std::size_t vocab_size) {
  if (params.logit_bias.size() > kMaxLogitBiases) {
    return usage_error(
        fmt::format("logit_bias: {} tokens; at most {} are allowed", params.logit_bias.size(), kMaxLogitBiases));
  }
  for (const auto& [id, bias] : params.logit_bias) {
    if (auto checked = validate_token("logit_bias", id, vocab_size); !checked) return checked;
    if (std::abs(bias) <= kMaxLogitBias) continue;
    return usage_error(fmt::format("logit_bias: {} for token {} is not allowed; it must be a number from {} to {}",
                                   bias, id, -kMaxLogitBias, kMaxLogitBias));
  }
  return {};
}

base::Result<void> validate_breakers(const SamplingParams& params, std::size_t vocab_size) {
  if (params.dry_sequence_breakers.size() > kMaxDryBreakers) {
    return usage_error(fmt::format("dry_sequence_breakers: {} sequences; at most {} are allowed",
                                   params.dry_sequence_breakers.size(), kMaxDryBreakers));
  }
  for (const std::vector<TokenId>& breaker : params.dry_sequence_breakers) {
    if (breaker.empty() || breaker.size() > kMaxDryBreakerTokens) {
      return usage_error(fmt::format("dry_sequence_breakers: a sequence of {} tokens; it must have 1 to {}",
                                     breaker.size(), kMaxDryBreakerTokens));
    }
    for (const TokenId id : breaker) {
      if (auto checked = validate_token("dry_sequence_breakers", id, vocab_size); !checked) return checked;
    }
  }
  return {};
}

bool is_set(const SamplingParams& params, std::string_view field) {
  const ParameterRow* row = find_parameter(field);
  return row->value(params) != row->default_value();
}

// The names among `fields` that differ from their defaults, "top_p, seed".
std::string names_of_set(const SamplingParams& params, std::initializer_list<std::string_view> fields) {
  std::string names;
  for (const std::string_view field : fields) {
    if (is_set(params, field)) names += fmt::format("{}{}", names.empty() ? "" : ", ", field);
  }
  return names;
}

bool cuts_by_rank(const SamplingParams& params) {
  return params.top_k > 0;
}

void advise_on_greedy(const SamplingParams& params, std::vector<std::string>& lines) {
  const bool greedy = params.temperature < kGreedyTemperature;
  const std::string idle = names_of_set(params, {"top_k", "top_p", "min_p", "typical_p", "top_n_sigma",
                                                 "epsilon_cutoff", "eta_cutoff", "xtc_probability", "seed"});
  if (greedy && !idle.empty()) {
    lines.push_back(fmt::format("temperature 0 always takes the most probable token: {} has no effect", idle));
  }
  if (!greedy && params.top_k == 1)
    lines.emplace_back("top_k 1 always takes the most probable token, as temperature 0 does");
}

void advise_on_truncation(const SamplingParams& params, std::vector<std::string>& lines) {
  if (params.temperature < kGreedyTemperature || params.top_k == 1) return;
  const bool nucleus = params.top_p < 1;
  if (is_set(params, "temperature") && cuts_by_rank(params) && nucleus) {
    lines.emplace_back("temperature, top_k and top_p are all set: change one at a time to see what each does");
  } else if (cuts_by_rank(params) && nucleus) {
    lines.push_back(fmt::format("top_k {} and top_p {} both cut the list: the tighter decides, one of them is enough",
                                params.top_k, params.top_p));
  }
  if (params.min_p > 0 && nucleus) {
    lines.emplace_back("min_p and top_p both cut by probability: one of them is enough");
  }
  const std::string cuts =
      names_of_set(params, {"top_k", "top_p", "min_p", "typical_p", "top_n_sigma", "epsilon_cutoff", "eta_cutoff"});
  if (params.temperature > 1.3F && cuts.empty()) {
    lines.push_back(
        fmt::format("temperature {} without min_p or top_p lets very unlikely tokens in", params.temperature));
  }
}

void advise_on_penalties(const SamplingParams& params, std::vector<std::string>& lines) {
  const std::string penalties = names_of_set(params, {"repetition_penalty", "presence_penalty", "frequency_penalty"});
  if (is_set(params, "repetition_penalty") && penalties != "repetition_penalty") {
    lines.push_back(fmt::format("{} add up: one kind of penalty is enough", penalties));
  }
  if (params.repeat_last_n == 0 && !penalties.empty()) {
    lines.push_back(fmt::format("repeat_last_n 0 looks at no token: {} has no effect", penalties));
  }
  if (is_set(params, "repeat_last_n") && penalties.empty()) {
    lines.emplace_back("repeat_last_n has no effect without a penalty");
  }
}

void advise_on_extras(const SamplingParams& params, std::vector<std::string>& lines) {
  const std::string dry = names_of_set(params, {"dry_base", "dry_allowed_length", "dry_penalty_last_n"});
  if (params.dry_multiplier == 0.0F && (!dry.empty() || !params.dry_sequence_breakers.empty())) {
    lines.push_back(fmt::format("dry_multiplier is 0: {} has no effect", dry.empty() ? "dry_sequence_breakers" : dry));
  }
  const std::string xtc = names_of_set(params, {"xtc_threshold", "xtc_min_keep"});
  if (params.xtc_probability == 0.0F && !xtc.empty()) {
    lines.push_back(fmt::format("xtc_probability is 0: {} has no effect", xtc));
  }
  if (params.xtc_probability > 0 && params.xtc_threshold > 0.5F) {
    lines.emplace_back("xtc_threshold above 0.5: no two tokens can both be that probable, so XTC has no effect");
  }
}

}  // namespace

base::Result<void> validate(const SamplingParams& params, std::size_t vocab_size) {
  if (auto checked = validate_scalars(params); !checked) return checked;
  if (auto checked = validate_biases(params, vocab_size); !checked) return checked;
  return validate_breakers(params, vocab_size);
}

std::vector<std::string> advice(const SamplingParams& params) {
  std::vector<std::string> lines;
  advise_on_greedy(params, lines);
  advise_on_truncation(params, lines);
  advise_on_penalties(params, lines);
  advise_on_extras(params, lines);
  return lines;
}

}  // namespace vitrine::sampling
