#include "models/hf_config.h"

#include <cmath>
#include <string>

#include "base/result.h"

namespace vitrine::models {
namespace {

using nlohmann::json;

constexpr double kMaxConfigSize = 1U << 30U;

[[noreturn]] void fail(std::string_view key, const std::string& reason) {
  throw base::Exception(base::bad_file("config.json: " + std::string(key) + ": " + reason));
}

// nullptr where the field is absent or null.
const json* find(const json& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::size_t required_size(const json& object, std::string_view key) {
  const std::size_t value = hf_size(object, key, 0);
  if (value == 0) fail(key, "is missing or 0");
  return value;
}

std::string string_of(const json& object, std::string_view key, std::string_view fallback) {
  const json* value = find(object, key);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) fail(key, "is not a string");
  return value->get<std::string>();
}

RopeScaling scaling_of(const std::string& type) {
  // "dynamic" changes nothing below max_position_embeddings, which is as far as a context reaches here.
  if (type == "default" || type == "none" || type == "dynamic") return RopeScaling::kNone;
  if (type == "linear") return RopeScaling::kLinear;
  if (type == "llama3") return RopeScaling::kLlama3;
  if (type == "yarn") return RopeScaling::kYarn;
  fail("rope_type", type + " is not one of default, dynamic, linear, llama3, yarn");
}

// `fields` is rope_parameters (or its part for a kind of layer), or rope_scaling.
void read_scaling(const json& fields, const ModelConfig& config, RopeConfig& rope) {
  rope.scaling = scaling_of(string_of(fields, fields.contains("rope_type") ? "rope_type" : "type", "default"));
  if (rope.scaling == RopeScaling::kNone) return;
  rope.factor = static_cast<float>(hf_number(fields, "factor", 1.0));
  if (!(rope.factor > 0.0F)) fail("factor", "is not positive");
  rope.original_context = hf_size(fields, "original_max_position_embeddings", config.context_length);
  rope.low_freq_factor = static_cast<float>(hf_number(fields, "low_freq_factor", 1.0));
  rope.high_freq_factor = static_cast<float>(hf_number(fields, "high_freq_factor", 4.0));
  rope.beta_fast = static_cast<float>(hf_number(fields, "beta_fast", 32.0));
  rope.beta_slow = static_cast<float>(hf_number(fields, "beta_slow", 1.0));
  if (rope.scaling == RopeScaling::kLlama3 && !(rope.high_freq_factor > rope.low_freq_factor)) {
    fail("high_freq_factor", "is not above low_freq_factor");
  }
  if (find(fields, "attention_factor") != nullptr) {
    rope.attention_factor = static_cast<float>(hf_number(fields, "attention_factor", 1.0));
  }
  require_hf_null(fields, "mscale");
}

RopeConfig plain_rope(const ModelConfig& config, double theta) {
  RopeConfig rope;
  rope.theta = static_cast<float>(theta);
  rope.rotary_dim = config.head_dim;
  return rope;
}

void check_theta(double theta) {
  if (!(theta > 1.0) || !std::isfinite(theta)) fail("rope_theta", "is not above 1");
}

}  // namespace

std::size_t hf_size(const json& object, std::string_view key, std::size_t fallback) {
  const json* value = find(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_number_integer() || value->get<double>() < 0.0 || value->get<double>() > kMaxConfigSize) {
    fail(key, "is not a size");
  }
  return value->get<std::size_t>();
}

double hf_number(const json& object, std::string_view key, double fallback) {
  const json* value = find(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_number() || !std::isfinite(value->get<double>())) fail(key, "is not a number");
  return value->get<double>();
}

bool hf_bool(const json& object, std::string_view key, bool fallback) {
  const json* value = find(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) fail(key, "is not true or false");
  return value->get<bool>();
}

void require_hf_string(const json& object, std::string_view key, std::string_view wanted) {
  const std::string value = string_of(object, key, wanted);
  if (value != wanted) fail(key, value + " is not supported, only " + std::string(wanted));
}

void require_hf_null(const json& object, std::string_view key) {
  const json* value = find(object, key);
  if (value != nullptr && !(value->is_number() && value->get<double>() == 0.0)) fail(key, "is not supported");
}

RopeConfig hf_rope(const json& object, const ModelConfig& config, std::string_view layer_type, double theta) {
  RopeConfig rope = plain_rope(config, hf_number(object, "rope_theta", theta));
  const json* fields = find(object, "rope_parameters");
  if (fields == nullptr) {
    fields = find(object, "rope_scaling");
  } else if (const json* part = fields->is_object() ? find(*fields, layer_type) : nullptr) {
    fields = part;
  }
  if (fields != nullptr) {
    if (!fields->is_object()) fail("rope_parameters", "is not an object");
    rope.theta = static_cast<float>(hf_number(*fields, "rope_theta", rope.theta));
    require_hf_null(*fields, "partial_rotary_factor");
    read_scaling(*fields, config, rope);
  }
  check_theta(rope.theta);
  return rope;
}

RopeConfig hf_local_rope(const json& object, const ModelConfig& config, std::string_view layer_type, double theta) {
  const json* fields = find(object, "rope_parameters");
  if (fields != nullptr) return hf_rope(object, config, layer_type, theta);
  RopeConfig rope = plain_rope(config, hf_number(object, "rope_local_base_freq", theta));
  check_theta(rope.theta);
  return rope;
}

void read_hf_layer_types(const json& object, ModelConfig& config) {
  const json* types = find(object, "layer_types");
  if (types == nullptr) return;
  if (!types->is_array() || types->size() != config.num_layers) fail("layer_types", "does not name every layer");
  for (std::size_t layer_idx = 0; layer_idx < config.num_layers; ++layer_idx) {
    const json& type = (*types)[layer_idx];
    if (type != "sliding_attention" && type != "full_attention") fail("layer_types", "holds an unknown kind of layer");
    config.layer_is_windowed[layer_idx] = type == "sliding_attention";
  }
}

ExpertConfig hf_experts(const json& object) {
  const std::string_view key = object.contains("num_experts") ? "num_experts" : "num_local_experts";
  ExpertConfig experts;
  experts.num_experts = required_size(object, key);
  if (experts.num_experts > 4096) fail(key, "is above 4096");
  experts.num_used = required_size(object, "num_experts_per_tok");
  if (experts.num_used > experts.num_experts) fail("num_experts_per_tok", "is above " + std::string(key));
  return experts;
}

ModelConfig read_hf_config(const json& object) {
  ModelConfig config;
  config.architecture = string_of(object, "model_type", "");
  config.vocab_size = required_size(object, "vocab_size");
  config.context_length = required_size(object, "max_position_embeddings");
  config.num_layers = required_size(object, "num_hidden_layers");
  if (config.num_layers > 4096) fail("num_hidden_layers", "is above 4096");
  config.hidden_size = required_size(object, "hidden_size");
  config.intermediate_size = required_size(object, "intermediate_size");
  config.num_heads = required_size(object, "num_attention_heads");
  config.num_kv_heads = hf_size(object, "num_key_value_heads", config.num_heads);
  config.head_dim = hf_size(object, "head_dim", config.hidden_size / config.num_heads);
  config.rms_norm_eps = static_cast<float>(hf_number(object, "rms_norm_eps", 1e-6));
  config.tied_embeddings = hf_bool(object, "tie_word_embeddings", false);
  config.attention_scale = 1.0F / std::sqrt(static_cast<float>(config.head_dim));
  config.layer_is_windowed.assign(config.num_layers, false);
  config.rope = hf_rope(object, config, "", 10000.0);
  config.local_rope = config.rope;
  return config;
}

}  // namespace vitrine::models
