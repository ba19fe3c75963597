#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

#include "models/model_config.h"

namespace vitrine::models {

// What every decoder's config.json says, in the spelling of transformers 5 (rope_parameters) and of those before it
// (rope_theta, rope_scaling). All functions throw base::Exception (kBadFile, naming the field).
ModelConfig read_hf_config(const nlohmann::json& json);

// A field or its default where it is absent or null; a wrong type or a value out of range throws.
std::size_t hf_size(const nlohmann::json& json, std::string_view key, std::size_t fallback);
double hf_number(const nlohmann::json& json, std::string_view key, double fallback);
bool hf_bool(const nlohmann::json& json, std::string_view key, bool fallback);

// Refuses a field that is there with another value than the family computes with.
void require_hf_string(const nlohmann::json& json, std::string_view key, std::string_view value);
void require_hf_null(const nlohmann::json& json, std::string_view key);

// num_experts (or num_local_experts) and num_experts_per_tok.
ExpertConfig hf_experts(const nlohmann::json& json);

// The rotary embedding of one kind of layer: rope_parameters[layer_type] where that exists, else rope_parameters or the
// older fields.
RopeConfig hf_rope(const nlohmann::json& json, const ModelConfig& config, std::string_view layer_type, double theta);
// That of windowed layers, whose older spelling is rope_local_base_freq, never scaled.
RopeConfig hf_local_rope(const nlohmann::json& json, const ModelConfig& config, std::string_view layer_type,
                         double theta);

// layer_types, where the file has it, says which layers are windowed.
void read_hf_layer_types(const nlohmann::json& json, ModelConfig& config);

}  // namespace vitrine::models
