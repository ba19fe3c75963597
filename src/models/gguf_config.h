#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "loader/gguf.h"
#include "models/model_config.h"

namespace vitrine::models {

// What every decoder's GGUF metadata says, under the keys of its architecture (GGUF format document, "LLM" section).
// Throws base::Exception (kBadFile, naming the key).
ModelConfig read_gguf_config(const loader::GgufModel& model);

// `architecture`.`key`; nullopt where it is absent. A wrong type or a value outside the range throws.
std::optional<std::uint64_t> gguf_uint(const loader::Metadata& metadata, const ModelConfig& config,
                                       std::string_view key, std::uint64_t min, std::uint64_t max);
std::optional<double> gguf_float(const loader::Metadata& metadata, const ModelConfig& config, std::string_view key,
                                 double min, double max);

// The keys that describe a mixture of experts; kinds of mixture that are not computed here throw. Nothing to do where
// there is none.
void read_gguf_experts(const loader::Metadata& metadata, ModelConfig& config);

}  // namespace vitrine::models
