#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "base/result.h"
#include "tools/hub/model_name.h"
#include "tools/hub/observer.h"
#include "tools/hub/pull.h"

namespace vitrine::tools {

// A repository's model without its weights: a folder that is removed with the object. Its config.json is whole; its
// GGUF or safetensors files have their full size, but of their bytes only the header is there, and what in a GGUF is no
// weight (rope_freqs.weight). All else is a hole, which reads as zeros and takes no space. So the loader opens it as it
// would the pulled model, and all sizes are that model's.
class RemoteHeaders {
 public:
  // The files that `vitrine pull` would choose. Blocks; asks again, as settings.download says, where an answer breaks
  // off or the server is busy. Fails as hub::list_repo and hub::choose_files do; kBadFile for a file that does not
  // begin with a header of its kind, or with one above 128 MiB.
  static base::Result<RemoteHeaders> fetch(const hub::HubSpec& spec, const hub::PullSettings& settings,
                                           hub::Observer& observer);

  RemoteHeaders(RemoteHeaders&& other) noexcept;
  RemoteHeaders& operator=(RemoteHeaders&&) = delete;
  RemoteHeaders(const RemoteHeaders&) = delete;
  RemoteHeaders& operator=(const RemoteHeaders&) = delete;
  ~RemoteHeaders();

  const std::string& name() const { return name_; }              // hf:ORG/REPO, with the file that was chosen
  const std::filesystem::path& model() const { return model_; }  // what the loader opens; valid as long as this
  std::uint64_t fetched_bytes() const { return fetched_bytes_; }

 private:
  explicit RemoteHeaders(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;  // empty: moved away
  std::filesystem::path model_;
  std::string name_;
  std::uint64_t fetched_bytes_ = 0;
};

}  // namespace vitrine::tools
