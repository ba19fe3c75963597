#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/hub/catalog.h"
#include "tools/hub/download.h"
#include "tools/hub/observer.h"
#include "tools/hub/repo.h"
#include "tools/hub/store.h"
#include "tools/hub/tokenizer_catalog.h"

namespace vitrine::hub {

struct PullSettings {
  Endpoint endpoint;
  HttpTimeouts timeouts;
  DownloadOptions download;
};

struct PullResult {
  StoredModel model;
  bool was_there = false;
};

// Brings models into a store. One pull at a time and model over all processes: a second one waits, then finds it done.
class Puller {
 public:
  // All three must outlive this.
  Puller(const Store& store, PullSettings settings, Observer& observer);

  base::Result<PullResult> pull_entry(const CatalogEntry& entry);
  // Stored as tok:NAME; where it is the tokenizer of a model, that model is to be pulled instead.
  base::Result<PullResult> pull_tokenizer(const TokenizerEntry& entry);
  // The model is stored under `name`, or under its spec with the file that was chosen where `name` is empty.
  base::Result<PullResult> pull_hub(const HubSpec& spec, const std::string& name, const std::string& licence);
  // Hard-links a file or the files of a directory into the store, or copies them where that is not possible.
  base::Result<PullResult> pull_path(const std::filesystem::path& path, const std::string& name);

 private:
  using Fetch = std::function<base::Result<void>(const std::filesystem::path& folder)>;
  // Locks `model.name`, looks whether it is there, else makes its partial folder, fills it by `fetch`, publishes it.
  base::Result<PullResult> fetch_into_store(const StoredModel& model, const Fetch& fetch);
  base::Result<void> fetch_repo(const HubSpec& spec, const RepoChoice& choice, const std::filesystem::path& folder);

  const Store& store_;
  PullSettings settings_;
  Observer& observer_;
};

}  // namespace vitrine::hub
