#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/hub/catalog.h"
#include "tools/hub/store.h"

namespace vitrine::tools {

// Where a MODEL argument leads to.
struct ModelLocation {
  std::string name;            // as a person knows it: the stored name, or the path as given
  std::filesystem::path path;  // a GGUF file or a directory
  std::optional<hub::StoredModel> stored;
};

// Resolves a catalog name, tok:NAME, hf:ORG/REPO[:FILE], the name of a stored model, or a path, in this order.
// kMissing says what to do: `vitrine pull NAME` for what is known but not here, else the nearest name.
base::Result<ModelLocation> find_model(std::string_view model, const hub::Store& store,
                                       const std::vector<hub::CatalogEntry>& catalog);

// True where pulling `model` could help: a catalog name, a tok: name or an hf: spec that is not in the store.
bool can_be_pulled(std::string_view model, const hub::Store& store, const std::vector<hub::CatalogEntry>& catalog);

}  // namespace vitrine::tools
