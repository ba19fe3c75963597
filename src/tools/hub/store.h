#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/hub/catalog.h"
#include "tools/hub/model_name.h"

namespace vitrine::hub {

// A model on disk, as its manifest describes it.
struct StoredModel {
  std::string name;  // a catalog name, a name given at pull, hf:ORG/REPO[:FILE], or tok:NAME
  std::string source;
  std::string licence;
  std::string sha256;          // of a single-file model; else empty
  std::filesystem::path path;  // the GGUF file (its first part), or the directory of a safetensors model
  std::uint64_t bytes = 0;
  std::int64_t added_unix_s = 0;
};

// The folder that holds the models:
//
//   ROOT/models/KEY/        a whole model: its files and vitrine-model.json
//   ROOT/partial/KEY/       one that is being fetched; kept for resuming
//   ROOT/locks/KEY.lock     held (flock) by the process that fetches or removes KEY
//
// A model appears by one rename of its directory, so what lies under models/ is whole. KEY is the name, with "hf:",
// '/' and ':' replaced. Safe for several processes; not for several threads of one.
class Store {
 public:
  explicit Store(std::filesystem::path root) : root_(std::move(root)) {}

  // $VITRINE_HOME, else $XDG_CACHE_HOME/vitrine, else ~/.cache/vitrine. kConfig where none of them can be told.
  static base::Result<Store> from_environment();

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path partial_dir(std::string_view name) const;
  std::filesystem::path lock_path(std::string_view name) const;

  // nullopt where no such model is stored. A spec hf:ORG/REPO also finds what was chosen from that repository.
  base::Result<std::optional<StoredModel>> find(std::string_view name) const;
  // By name. Directories without a readable manifest are left out.
  base::Result<std::vector<StoredModel>> list() const;

  // Moves partial_dir(model.name) into models/ with a manifest. `model.path` is relative to that directory ("" for the
  // directory itself); the answer has the absolute one.
  base::Result<StoredModel> publish(StoredModel model) const;
  base::Result<void> remove(const StoredModel& model) const;

 private:
  std::filesystem::path model_dir(std::string_view name) const;
  std::optional<StoredModel> read_manifest(const std::filesystem::path& directory) const;

  std::filesystem::path root_;
};

// The directory name of a model: a bijection on valid names and specs.
std::string store_key(std::string_view name);

}  // namespace vitrine::hub
