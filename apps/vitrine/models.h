#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/find_model.h"
#include "tools/hub/catalog.h"
#include "tools/hub/store.h"
#include "tools/hub/tokenizer_catalog.h"
#include "vitrine/command.h"

namespace vitrine::cli {

// Where a command needs a model and none is named.
inline constexpr const char* kDefaultModel = "smollm2-135m-instruct";

// The models that a command can name. All functions throw base::Exception.
class Models {
 public:
  Models();

  const hub::Store& store() const { return store_; }
  const std::vector<hub::CatalogEntry>& catalog() const { return catalog_; }
  std::vector<std::string> names() const { return hub::catalog_names(catalog_); }

  // Where MODEL lies. One that is known but not here is missing (66).
  tools::ModelLocation find(std::string_view model) const;
  // The same, but fetches such a model first: for run and chat.
  tools::ModelLocation find_or_pull(std::string_view model, const Context& context) const;
  // Fetches a catalog name, a tok: name, an hf: spec or a path. Shows terms, asks on a terminal, shows progress.
  // `name`: to store it under; empty: the usual one.
  hub::StoredModel pull(std::string_view model, const std::string& name, const Context& context) const;

 private:
  hub::StoredModel pull_tokenizer(const hub::TokenizerEntry& entry, const std::string& name,
                                  const Context& context) const;

  hub::Store store_;
  std::vector<hub::CatalogEntry> catalog_;
};

// The --json row of a stored model.
nlohmann::ordered_json to_json(const hub::StoredModel& model);

}  // namespace vitrine::cli
