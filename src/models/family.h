#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "loader/metadata.h"
#include "models/model.h"
#include "models/weight_loader.h"
#include "ops/backend.h"

namespace vitrine::models {

// A registry row. The config functions start from what all decoders share (gguf_config.h, hf_config.h) and are given
// the chance to set what the family does otherwise; they throw base::Exception (kBadFile, naming the field).
struct Family {
  std::string_view name;                                 // ModelConfig::architecture
  std::span<const std::string_view> gguf_architectures;  // general.architecture
  std::span<const std::string_view> hf_model_types;      // config.json: model_type
  void (*configure_gguf)(const loader::Metadata& metadata, ModelConfig& config);
  void (*configure_hf)(const nlohmann::json& json, ModelConfig& config);
  std::unique_ptr<Model> (*build)(const ModelConfig& config, ops::Backend& backend, WeightLoader& weights);
};

// One file per family.
extern const Family kLlamaFamily;
extern const Family kGemma3Family;
extern const Family kQwen3Family;

}  // namespace vitrine::models
