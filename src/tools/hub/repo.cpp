#include "tools/hub/repo.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/hub/download.h"
#include "tools/hub/environment.h"
#include "tools/hub/sha256.h"

namespace vitrine::hub {
namespace {

using base::Error;
using base::ErrorKind;
using base::Result;
using Json = nlohmann::json;

constexpr std::string_view kDefaultEndpoint = "https://huggingface.co";
constexpr std::size_t kMaxTreeBytes = std::size_t{16} << 20U;
constexpr int kMaxTreePages = 50;

// In order of liking: 4-bit first, for it is what a CPU runs best at little loss.
constexpr std::array<std::string_view, 10> kLikedTypes = {"q4_k_m", "q4_0", "q8_0", "q4_k_s", "q5_k_m",
                                                          "mxfp4",  "q6_k", "q4_1", "f16",    "bf16"};

constexpr std::array<std::string_view, 12> kModelFiles = {
    "config.json",     "generation_config.json",  "tokenizer.json",     "tokenizer_config.json",
    "tokenizer.model", "special_tokens_map.json", "added_tokens.json",  "vocab.json",
    "merges.txt",      "chat_template.jinja",     "chat_template.json", "model.safetensors.index.json"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// NAME-00001-of-00003.gguf without the part number; empty for a file that is not a part.
std::string split_stem(std::string_view path) {
  constexpr std::size_t kTail = std::string_view("-00001-of-00003.gguf").size();
  if (path.size() <= kTail) return "";
  const std::string_view tail = path.substr(path.size() - kTail);
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || !is_digits(tail.substr(1, 5)) ||
      !is_digits(tail.substr(10, 5))) {
    return "";
  }
  return std::string(path.substr(0, path.size() - kTail)) + std::string(tail.substr(6, 9));
}

// The models among the files: each the files of one GGUF, parts in order.
std::vector<std::vector<RepoFile>> gguf_models(const std::vector<RepoFile>& files) {
  std::map<std::string, std::vector<RepoFile>> models;
  for (const RepoFile& file : files) {
    const std::string name = lower(file.path);
    // Vision projectors and importance matrices are no models.
    if (!name.ends_with(".gguf") || name.find("mmproj") != std::string::npos ||
        name.find("imatrix") != std::string::npos) {
      continue;
    }
    const std::string stem = split_stem(file.path);
    models[stem.empty() ? file.path : stem].push_back(file);
  }
  std::vector<std::vector<RepoFile>> list;
  for (auto& [stem, parts] : models) {
    std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    list.push_back(std::move(parts));
  }
  return list;
}

std::size_t liking(const std::vector<RepoFile>& model) {
  const std::string name = lower(model.front().path);
  const auto found = std::find_if(kLikedTypes.begin(), kLikedTypes.end(),
                                  [&](std::string_view type) { return name.find(type) != std::string::npos; });
  return static_cast<std::size_t>(found - kLikedTypes.begin());
}

bool is_model_file(std::string_view path) {
  return std::find(kModelFiles.begin(), kModelFiles.end(), path) != kModelFiles.end();
}

// Weights at the top of the repository. Mistral's repositories hold them twice: "consolidated" is left out then.
std::vector<RepoFile> safetensors_model(const std::vector<RepoFile>& files) {
  std::vector<RepoFile> chosen;
  bool has_usual_name = false;
  for (const RepoFile& file : files) {
    if (file.path.find('/') != std::string::npos) continue;
    const bool is_weights = file.path.ends_with(".safetensors");
    has_usual_name |= is_weights && file.path.starts_with("model");
    if (is_weights || is_model_file(file.path)) chosen.push_back(file);
  }
  if (has_usual_name) {
    std::erase_if(chosen, [](const RepoFile& file) {
      return file.path.ends_with(".safetensors") && !file.path.starts_with("model");
    });
  }
  const bool has_weights = std::any_of(chosen.begin(), chosen.end(),
                                       [](const RepoFile& file) { return file.path.ends_with(".safetensors"); });
  return has_weights ? chosen : std::vector<RepoFile>();
}

Result<RepoChoice> choose_named(const std::vector<RepoFile>& files, const HubSpec& spec) {
  const std::string stem = split_stem(spec.file);
  RepoChoice choice;
  for (const RepoFile& file : files) {
    if (file.path == spec.file || (!stem.empty() && split_stem(file.path) == stem)) choice.files.push_back(file);
  }
  std::sort(choice.files.begin(), choice.files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  if (!choice.files.empty()) return choice;
  return Error{ErrorKind::kMissing,
               fmt::format("{}: no such file in it; leave the file out to have one chosen", spec.text())};
}

std::optional<RepoFile> parse_row(const Json& row) {
  const auto text = [](const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!row.is_object() || text(row, "type") != "file") return std::nullopt;
  RepoFile file{text(row, "path"), 0, std::nullopt};
  if (!is_safe_relative_path(file.path)) return std::nullopt;
  if (const auto size = row.find("size"); size != row.end() && size->is_number_unsigned())
    file.bytes = size->get<std::uint64_t>();
  if (const auto lfs = row.find("lfs"); lfs != row.end() && lfs->is_object()) {
    if (const std::string oid = text(*lfs, "oid"); is_sha256_hex(oid)) file.sha256 = oid;
  }
  return file;
}

// The URL of rel="next" in a Link header, as a path below the endpoint; empty where there is none.
std::string next_page(const std::string& link, const std::string& endpoint) {
  const std::size_t close = link.find('>');
  if (!link.starts_with("<") || close == std::string::npos || link.find("rel=\"next\"") == std::string::npos) return "";
  const std::string url = link.substr(1, close - 1);
  return url.starts_with(endpoint + "/") ? url.substr(endpoint.size()) : "";
}

}  // namespace

Endpoint Endpoint::from_environment() {
  Endpoint endpoint{environment("HF_ENDPOINT"), environment("HF_TOKEN")};
  if (endpoint.url.empty()) endpoint.url = kDefaultEndpoint;
  while (endpoint.url.ends_with("/"))
    endpoint.url.pop_back();
  return endpoint;
}

HttpRequest Endpoint::request(std::string_view path) const {
  return {url + std::string(path), {}, token};
}

Result<std::vector<RepoFile>> parse_tree(std::string_view text) {
  // The depth is bounded by hand: nlohmann's parser keeps its own stack, but a deep value is slow to destroy.
  const auto limit = [](int depth, Json::parse_event_t, Json&) { return depth < 16; };
  const Json json = Json::parse(text, limit, false);
  if (!json.is_array()) return Error{ErrorKind::kUnavailable, "hub: the answer is no list of files; check HF_ENDPOINT"};
  std::vector<RepoFile> files;
  for (const Json& row : json) {
    if (auto file = parse_row(row)) files.push_back(std::move(*file));
  }
  return files;
}

Result<std::vector<RepoFile>> list_repo(HttpClient& client, const Endpoint& endpoint, const HubSpec& spec) {
  std::vector<RepoFile> files;
  std::string path = fmt::format("/api/models/{}/tree/main?recursive=true", spec.repo_id());
  for (int page = 0; page < kMaxTreePages && !path.empty(); ++page) {
    std::string text;
    const auto response = client.get_text(endpoint.request(path), kMaxTreeBytes, text);
    if (!response && response.error().kind == ErrorKind::kUnavailable) {
      return Error{ErrorKind::kUnavailable,
                   response.error().message + "; check the network, the proxy and HF_ENDPOINT"};
    }
    if (!response) return response.error();
    if (!response->ok()) return http_status_error(*response, "hf:" + spec.repo_id(), !endpoint.token.empty());
    auto rows = parse_tree(text);
    if (!rows) return rows.error();
    std::move(rows->begin(), rows->end(), std::back_inserter(files));
    path = next_page(response->header("link"), endpoint.url);
  }
  return files;
}

Result<RepoChoice> choose_files(const std::vector<RepoFile>& files, const HubSpec& spec) {
  if (!spec.file.empty()) return choose_named(files, spec);
  auto models = gguf_models(files);
  if (!models.empty()) {
    const auto best = std::min_element(models.begin(), models.end(),
                                       [](const auto& a, const auto& b) { return liking(a) < liking(b); });
    return RepoChoice{*best, false, models.size() - 1};
  }
  auto weights = safetensors_model(files);
  if (!weights.empty()) return RepoChoice{std::move(weights), true, 0};
  return Error{ErrorKind::kMissing, spec.text() + ": neither GGUF nor safetensors in it; choose another repository"};
}

}  // namespace vitrine::hub
