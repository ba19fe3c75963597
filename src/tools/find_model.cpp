#include "tools/find_model.h"

#include <system_error>

#include <fmt/format.h>

#include "base/suggest.h"
#include "tools/hub/model_name.h"

namespace vitrine::tools {
namespace {

using base::Error;
using base::ErrorKind;
using base::Result;

bool is_known_name(std::string_view model, const std::vector<hub::CatalogEntry>& catalog) {
  return hub::find_entry(catalog, model) != nullptr || hub::parse_hub_spec(model).has_value();
}

Error missing_model(std::string_view model, const hub::Store& store, const std::vector<hub::CatalogEntry>& catalog) {
  if (is_known_name(model, catalog)) {
    return {ErrorKind::kMissing, fmt::format("{}: not on this machine; vitrine pull {}", model, model)};
  }
  if (model.starts_with("hf:")) {
    return base::usage_error(
        fmt::format("{}: not of the form hf:ORG/REPO[:FILE]; for example hf:Qwen/Qwen3-0.6B-GGUF", model));
  }
  std::vector<std::string> names = hub::catalog_names(catalog);
  if (const auto models = store.list()) {
    for (const hub::StoredModel& stored : *models)
      names.push_back(stored.name);
  }
  if (const auto near = base::nearest(model, names)) {
    return {ErrorKind::kMissing, fmt::format("{}: no such model or file; did you mean {}?", model, *near)};
  }
  return {ErrorKind::kMissing, fmt::format("{}: no such model or file; `vitrine pull` lists what there is", model)};
}

}  // namespace

Result<ModelLocation> find_model(std::string_view model, const hub::Store& store,
                                 const std::vector<hub::CatalogEntry>& catalog) {
  const auto stored = store.find(model);
  if (!stored) return stored.error();
  if (stored->has_value()) return ModelLocation{(*stored)->name, (*stored)->path, **stored};
  const std::filesystem::path path(model);
  std::error_code ignored;
  if (!model.empty() && !is_known_name(model, catalog) && std::filesystem::exists(path, ignored)) {
    return ModelLocation{std::string(model), path, std::nullopt};
  }
  return missing_model(model, store, catalog);
}

bool can_be_pulled(std::string_view model, const hub::Store& store, const std::vector<hub::CatalogEntry>& catalog) {
  const auto stored = store.find(model);
  return is_known_name(model, catalog) && stored && !stored->has_value();
}

}  // namespace vitrine::tools
