#include "tools/hub/store.h"

#include <algorithm>
#include <ctime>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "tools/hub/environment.h"
#include "tools/hub/files.h"

namespace vitrine::hub {
namespace fs = std::filesystem;
using base::Result;
using Json = nlohmann::json;

namespace {

constexpr std::string_view kManifest = "vitrine-model.json";
constexpr std::uint64_t kMaxManifestBytes = 1U << 20U;

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string store_key(std::string_view name) {
  // "=" and "+" can't occur in names, so nothing else maps to the same key.
  std::string key;
  for (const char c : name.starts_with("hf:") ? name.substr(3) : name) {
    key += c == '/' ? '+' : c == ':' ? '=' : c;
  }
  return name.starts_with("hf:") ? "hf=" + key : key;
}

Result<Store> Store::from_environment() {
  if (const auto home = environment("VITRINE_HOME"); !home.empty()) return Store(fs::absolute(home));
  if (const auto cache = environment("XDG_CACHE_HOME"); !cache.empty()) return Store(fs::path(cache) / "vitrine");
  if (const auto home = environment("HOME"); !home.empty()) return Store(fs::path(home) / ".cache" / "vitrine");
  return base::Error{base::ErrorKind::kConfig, "models folder: neither VITRINE_HOME nor HOME is set; set VITRINE_HOME"};
}

fs::path Store::model_dir(std::string_view name) const {
  return root_ / "models" / store_key(name);
}
fs::path Store::partial_dir(std::string_view name) const {
  return root_ / "partial" / store_key(name);
}
fs::path Store::lock_path(std::string_view name) const {
  return root_ / "locks" / (store_key(name) + ".lock");
}

std::optional<StoredModel> Store::read_manifest(const fs::path& directory) const {
  const auto text = read_text(directory / kManifest, kMaxManifestBytes);
  if (!text) return std::nullopt;
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  StoredModel model;
  model.name = text_of(json, "name");
  model.source = text_of(json, "source");
  model.licence = text_of(json, "licence");
  model.sha256 = text_of(json, "sha256");
  const std::string file = text_of(json, "file");
  if (model.name.empty() || (!file.empty() && !is_safe_relative_path(file))) return std::nullopt;
  model.path = file.empty() ? directory : directory / file;
  const auto added = json.find("added_unix_s");
  if (added != json.end() && added->is_number_integer()) model.added_unix_s = added->get<std::int64_t>();
  model.bytes = tree_bytes(directory) - text->size();
  return model;
}

Result<std::vector<StoredModel>> Store::list() const {
  std::vector<StoredModel> models;
  std::error_code code;
  for (fs::directory_iterator it(root_ / "models", code), end; !code && it != end; it.increment(code)) {
    if (auto model = read_manifest(it->path())) models.push_back(std::move(*model));
  }
  if (code && code != std::errc::no_such_file_or_directory) return file_error(root_ / "models", code.value());
  std::sort(models.begin(), models.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return models;
}

Result<std::optional<StoredModel>> Store::find(std::string_view name) const {
  const auto spec = parse_hub_spec(name);
  if (!spec && !is_model_name(name) && !is_tokenizer_name(name)) return std::optional<StoredModel>();
  if (auto model = read_manifest(model_dir(name))) return std::optional(std::move(model));
  if (!spec || !spec->file.empty()) return std::optional<StoredModel>();
  const auto models = list();
  if (!models) return models.error();
  const auto found = std::find_if(models->begin(), models->end(), [&](const StoredModel& model) {
    return model.source == spec->text() || model.source.starts_with(spec->text() + ":");
  });
  return found == models->end() ? std::optional<StoredModel>() : std::optional(*found);
}

Result<StoredModel> Store::publish(StoredModel model) const {
  const fs::path partial = partial_dir(model.name);
  model.added_unix_s = static_cast<std::int64_t>(std::time(nullptr));
  const Json manifest = {{"name", model.name},     {"source", model.source},      {"licence", model.licence},
                         {"sha256", model.sha256}, {"file", model.path.string()}, {"added_unix_s", model.added_unix_s}};
  if (auto done = write_text(partial / kManifest, manifest.dump(2) + "\n"); !done) return done.error();
  const fs::path directory = model_dir(model.name);
  if (auto done = make_directories(directory.parent_path()); !done) return done.error();
  if (auto done = remove_tree(directory); !done) return done.error();
  if (auto done = rename_path(partial, directory); !done) return done.error();
  auto published = read_manifest(directory);
  if (!published) return base::Error{base::ErrorKind::kIo, directory.string() + ": manifest can't be read back"};
  return std::move(*published);
}

Result<void> Store::remove(const StoredModel& model) const {
  // The rename makes the model vanish at once for other processes; deleting gigabytes takes a while.
  const fs::path doomed = root_ / "partial" / (store_key(model.name) + ".removed");
  if (auto done = make_directories(doomed.parent_path()); !done) return done;
  if (auto done = remove_tree(doomed); !done) return done;
  if (auto done = rename_path(model_dir(model.name), doomed); !done) return done;
  return remove_tree(doomed);
}

}  // namespace vitrine::hub
