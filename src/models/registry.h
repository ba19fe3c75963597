#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "loader/model_files.h"
#include "models/family.h"
#include "models/model.h"
#include "ops/backend.h"

namespace vitrine::models {

// Every family that this program can run; adding one is a file and a row here.
std::span<const Family* const> families();

// The configuration in a model's files, checked so that its sizes can be computed with. kBadFile names the field; an
// architecture that no family knows is named together with those that are known.
base::Result<ModelConfig> read_model_config(const loader::ModelFiles& files);

// Loads the weights into the backend's form. `files` and `backend` must outlive the model.
base::Result<std::unique_ptr<Model>> load_model(const loader::ModelFiles& files, ops::Backend& backend);

}  // namespace vitrine::models
