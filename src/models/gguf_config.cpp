#include "models/gguf_config.h"

#include <array>
#include <cmath>
#include <string>

#include "base/result.h"
#include "quant/quant_format.h"

namespace vitrine::models {
namespace {

// No model known comes near these; a file beyond them is broken, and sizes below them cannot overflow.
constexpr std::uint64_t kMaxSize = 1U << 24U;
constexpr std::uint64_t kMaxLayers = 4096;

std::string full_key(const ModelConfig& config, std::string_view key) {
  return config.architecture + "." + std::string(key);
}

std::size_t required_uint(const loader::Metadata& metadata, const ModelConfig& config, std::string_view key,
                          std::uint64_t max) {
  const auto value = gguf_uint(metadata, config, key, 1, max);
  if (!value) throw base::Exception(base::bad_file(full_key(config, key) + " is missing"));
  return *value;
}

// A number for all layers, or an array with one per layer, which must then be equal.
std::size_t uniform_uint(const loader::Metadata& metadata, const ModelConfig& config, std::string_view key) {
  const std::string name = full_key(config, key);
  const loader::MetadataValue* value = metadata.find(name);
  if (value == nullptr || !value->is_array()) return required_uint(metadata, config, key, kMaxSize);
  const auto list = metadata.int_array(name, 1, static_cast<std::int64_t>(kMaxSize)).value_or_throw();
  if (!list || list->empty()) throw base::Exception(base::bad_file(name + " is an empty list"));
  for (const std::int64_t entry : *list) {
    if (entry != list->front()) {
      throw base::Exception(base::bad_file(name + " differs between layers: not supported"));
    }
  }
  return static_cast<std::size_t>(list->front());
}

void read_yarn(const loader::Metadata& metadata, const ModelConfig& config, RopeConfig& rope) {
  rope.original_context = gguf_uint(metadata, config, "rope.scaling.original_context_length", 1, kMaxSize * 64)
                              .value_or(config.context_length);
  if (const auto value = gguf_float(metadata, config, "rope.scaling.yarn_beta_fast", 0.0, 1e6)) {
    rope.beta_fast = static_cast<float>(*value);
  }
  if (const auto value = gguf_float(metadata, config, "rope.scaling.yarn_beta_slow", 0.0, 1e6)) {
    rope.beta_slow = static_cast<float>(*value);
  }
}

RopeConfig read_rope(const loader::Metadata& metadata, const ModelConfig& config) {
  RopeConfig rope;
  rope.theta = static_cast<float>(gguf_float(metadata, config, "rope.freq_base", 1.0, 1e12).value_or(10000.0));
  rope.rotary_dim = gguf_uint(metadata, config, "rope.dimension_count", 2, kMaxSize).value_or(config.head_dim);
  if (rope.rotary_dim % 2 != 0 || rope.rotary_dim > config.head_dim) {
    throw base::Exception(base::bad_file(full_key(config, "rope.dimension_count") + ": " +
                                         std::to_string(rope.rotary_dim) + " is odd or above the head dimension " +
                                         std::to_string(config.head_dim)));
  }
  const std::string type_key = full_key(config, "rope.scaling.type");
  const std::string type(metadata.string_value(type_key).value_or_throw().value_or("none"));
  rope.factor = static_cast<float>(gguf_float(metadata, config, "rope.scaling.factor", 1e-3, 1e6).value_or(1.0));
  if (type == "linear") {
    rope.scaling = RopeScaling::kLinear;
  } else if (type == "yarn") {
    rope.scaling = RopeScaling::kYarn;
    read_yarn(metadata, config, rope);
  } else if (type != "none") {
    throw base::Exception(base::bad_file(type_key + ": " + type + " is not one of none, linear, yarn"));
  }
  return rope;
}

// Llama 3's stretch of long waves comes as a divisor per pair.
void read_frequency_factors(const loader::GgufModel& model, RopeConfig& rope) {
  const tensor::TensorView* view = model.weights->find("rope_freqs.weight");
  if (view == nullptr) return;
  if (view->shape.num_elements() != rope.rotary_dim / 2) {
    throw base::Exception(base::bad_file("tensor rope_freqs.weight: shape " + view->shape.to_string() +
                                         " does not hold " + std::to_string(rope.rotary_dim / 2) + " factors"));
  }
  rope.freq_factors.resize(rope.rotary_dim / 2);
  quant::find_quant_format(view->type)->decode(view->data, rope.freq_factors.data(), rope.freq_factors.size());
  for (const float factor : rope.freq_factors) {
    if (!(factor > 0.0F) || !std::isfinite(factor)) {
      throw base::Exception(base::bad_file("tensor rope_freqs.weight: a factor that is not positive"));
    }
  }
}

// Kinds of mixture that a key announces and that are not computed here. A key of 0 says the same as none.
struct ExpertExtra {
  std::string_view key;
  std::uint64_t supported;
  std::string_view what;
};
constexpr std::array kExpertExtras = {
    ExpertExtra{"expert_shared_count", 0, "shared experts"},
    ExpertExtra{"expert_shared_feed_forward_length", 0, "shared experts"},
    ExpertExtra{"expert_gating_func", 1, "routers other than softmax"},
    ExpertExtra{"expert_group_count", 1, "groups of experts"},
    ExpertExtra{"leading_dense_block_count", 0, "dense layers among those with experts"},
};

}  // namespace

std::optional<std::uint64_t> gguf_uint(const loader::Metadata& metadata, const ModelConfig& config,
                                       std::string_view key, std::uint64_t min, std::uint64_t max) {
  return metadata.uint_value(full_key(config, key), min, max).value_or_throw();
}

std::optional<double> gguf_float(const loader::Metadata& metadata, const ModelConfig& config, std::string_view key,
                                 double min, double max) {
  return metadata.float_value(full_key(config, key), min, max).value_or_throw();
}

void read_gguf_experts(const loader::Metadata& metadata, ModelConfig& config) {
  constexpr std::uint64_t kMaxExperts = 4096;
  ExpertConfig& experts = config.experts;
  experts.num_experts = gguf_uint(metadata, config, "expert_count", 0, kMaxExperts).value_or(0);
  if (experts.num_experts == 0) return;
  experts.num_used = required_uint(metadata, config, "expert_used_count", experts.num_experts);
  experts.intermediate_size =
      gguf_uint(metadata, config, "expert_feed_forward_length", 1, kMaxSize).value_or(config.intermediate_size);
  experts.normalize_weights =
      metadata.bool_value(full_key(config, "expert_weights_norm")).value_or_throw().value_or(true);
  for (const ExpertExtra& extra : kExpertExtras) {
    const std::uint64_t value = gguf_uint(metadata, config, extra.key, 0, kMaxSize).value_or(extra.supported);
    if (value == extra.supported || value == 0) continue;
    throw base::Exception(base::bad_file(full_key(config, extra.key) + ": " + std::string(extra.what) +
                                         " are not supported; mixtures with a softmax router are"));
  }
  const double scale = gguf_float(metadata, config, "expert_weights_scale", 0.0, 1e6).value_or(1.0);
  if (scale != 1.0 && scale != 0.0) {
    throw base::Exception(base::bad_file(full_key(config, "expert_weights_scale") + ": a scale is not supported"));
  }
}

ModelConfig read_gguf_config(const loader::GgufModel& model) {
  const loader::Metadata& metadata = model.metadata;
  ModelConfig config;
  const auto architecture = metadata.string_value("general.architecture").value_or_throw();
  if (!architecture) throw base::Exception(base::bad_file("general.architecture is missing"));
  config.architecture = *architecture;
  config.context_length = required_uint(metadata, config, "context_length", kMaxSize * 64);
  config.num_layers = required_uint(metadata, config, "block_count", kMaxLayers);
  config.hidden_size = required_uint(metadata, config, "embedding_length", kMaxSize);
  config.intermediate_size = uniform_uint(metadata, config, "feed_forward_length");
  config.num_heads = uniform_uint(metadata, config, "attention.head_count");
  config.num_kv_heads = metadata.find(full_key(config, "attention.head_count_kv")) == nullptr
                            ? config.num_heads
                            : uniform_uint(metadata, config, "attention.head_count_kv");
  config.head_dim =
      gguf_uint(metadata, config, "attention.key_length", 1, kMaxSize).value_or(config.hidden_size / config.num_heads);
  const auto value_dim = gguf_uint(metadata, config, "attention.value_length", 1, kMaxSize).value_or(config.head_dim);
  if (value_dim != config.head_dim) {
    throw base::Exception(base::bad_file(full_key(config, "attention.value_length") + " differs from key_length"));
  }
  config.rms_norm_eps =
      static_cast<float>(gguf_float(metadata, config, "attention.layer_norm_rms_epsilon", 0.0, 1.0).value_or(1e-5));
  config.attention_scale = 1.0F / std::sqrt(static_cast<float>(config.head_dim));
  config.sliding_window = gguf_uint(metadata, config, "attention.sliding_window", 0, kMaxSize * 64).value_or(0);
  config.layer_is_windowed.assign(config.num_layers, config.sliding_window != 0);
  if (config.head_dim != 0) config.rope = read_rope(metadata, config);
  read_frequency_factors(model, config.rope);
  config.local_rope = config.rope;
  return config;
}

}  // namespace vitrine::models
