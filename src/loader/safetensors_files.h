#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "loader/weight_source.h"

namespace vitrine::loader {

// Maps the safetensors of a model folder: model.safetensors, or the shards of model.safetensors.index.json, which must
// hold every tensor that the index promises. Adds to `notes` what was left out. Throws base::Exception naming the file.
std::unique_ptr<WeightSource> open_safetensors(const std::filesystem::path& directory, std::vector<std::string>& notes);

}  // namespace vitrine::loader
