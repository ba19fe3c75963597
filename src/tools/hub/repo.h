#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/hub/http.h"
#include "tools/hub/model_name.h"

namespace vitrine::hub {

// Where repositories live: HF_ENDPOINT (default the public hub), HF_TOKEN.
struct Endpoint {
  std::string url;  // without a '/' at the end
  std::string token;

  static Endpoint from_environment();
  HttpRequest request(std::string_view path) const;
};

struct RepoFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::optional<std::string> sha256;
};

// What to fetch from a repository.
struct RepoChoice {
  std::vector<RepoFile> files;
  bool is_directory = false;   // a safetensors model; else files[0] is the GGUF (or its first part)
  std::size_t num_others = 0;  // GGUF models that were there too
};

// All files of the main revision. kMissing, kNoPermission (gated) or kUnavailable, in words.
base::Result<std::vector<RepoFile>> list_repo(HttpClient& client, const Endpoint& endpoint, const HubSpec& spec);

// The files that `spec` asks for: its file (and all further parts where it is the first of several); without one the
// GGUF of the best-liked type (Q4_K_M, then Q4_0, Q8_0, ...), or else the safetensors with config and tokenizer.
// kMissing where nothing can be used.
base::Result<RepoChoice> choose_files(const std::vector<RepoFile>& files, const HubSpec& spec);

// The answer of the tree listing: [{type, path, size, lfs: {oid}}]. kUnavailable where it is something else.
base::Result<std::vector<RepoFile>> parse_tree(std::string_view json);

}  // namespace vitrine::hub
