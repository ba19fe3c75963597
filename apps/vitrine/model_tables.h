#pragma once

#include <map>
#include <string>
#include <vector>

#include "vitrine/engine_flags.h"

namespace vitrine::cli {

// What a table [models.NAME] of the settings says of the model that clients know by that name.
struct ModelTable {
  std::string model;  // a catalog name, a file or folder, or hf:ORG/REPO[:FILE]; empty: it is named elsewhere
  std::vector<std::string> aliases = {};
  bool is_pinned = false;
  std::vector<std::string> words = {};  // "--ctx=4096": what counts for it in place of what does for all

  // Throws base::Exception (kUsage).
  EngineFlags engine_flags(EngineFlags of_all) const;
};
using ModelTables = std::map<std::string, ModelTable>;

inline constexpr const char* kModelsFlag = "--models";

// Takes "NAME.SETTING=VALUE" of --models into the tables; the same row twice is one. Throws base::Exception (kUsage).
void take_model_row(const std::string& word, ModelTables& tables);

}  // namespace vitrine::cli
