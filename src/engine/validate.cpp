#include "engine/validate.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "sampling/sampling_params.h"

namespace vitrine::engine {
namespace {

std::optional<Refusal> validate_ids(std::string_view param, const std::vector<TokenId>& ids, std::size_t vocab_size) {
  const auto wrong = std::ranges::find_if(
      ids, [vocab_size](TokenId id) { return id < 0 || static_cast<std::size_t>(id) >= vocab_size; });
  if (wrong == ids.end()) return std::nullopt;
  return Refusal{"invalid_value", std::string(param),
                 fmt::format("{}[{}]: token id {} is not in the vocabulary; use 0 to {}", param, wrong - ids.begin(),
                             *wrong, vocab_size - 1)};
}

std::optional<Refusal> validate_length(const Request& request, const RequestLimits& limits) {
  const std::size_t num_tokens = request.prompt.size();
  if (num_tokens == 0) return Refusal{"invalid_value", "prompt", "prompt: it holds no token; give at least one"};
  const std::size_t to_generate = request.max_tokens == std::size_t{0} ? 0 : 1;
  const std::size_t limit = std::min(limits.context_length, limits.kv_tokens);
  if (num_tokens <= limit - std::min(limit, to_generate)) return std::nullopt;
  const bool is_context = limit == limits.context_length;
  return Refusal{
      "context_length_exceeded", "prompt",
      fmt::format(
          "prompt: {} tokens and {} to generate exceed the {} tokens that {} holds; shorten the prompt or raise {}",
          num_tokens, to_generate, limit, is_context ? "the context" : "the KV cache",
          is_context ? "--ctx" : "--kv-memory")};
}

// Messages of the sampler begin with the field's name.
std::string field_of(const std::string& message) {
  return message.substr(0, message.find(':'));
}

}  // namespace

std::optional<Refusal> validate(const Request& request, const RequestLimits& limits) {
  if (auto refusal = validate_length(request, limits)) return refusal;
  if (auto refusal = validate_ids("prompt", request.prompt, limits.vocab_size)) return refusal;
  if (auto refusal = validate_ids("stop_tokens", request.stop_tokens, limits.vocab_size)) return refusal;
  if (request.pooling != Pooling::kNone && request.max_tokens != std::size_t{0})
    return Refusal{"invalid_value", "max_tokens", "max_tokens: an embedding generates nothing; use 0"};
  const auto sampling = sampling::validate(request.sampling, limits.vocab_size);
  if (!sampling) return Refusal{"invalid_value", field_of(sampling.error().message), sampling.error().message};
  return std::nullopt;
}

}  // namespace vitrine::engine
