#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "tools/hub/http.h"
#include "tools/hub/observer.h"

namespace vitrine::hub {

struct DownloadOptions {
  int num_retries = 5;                         // in a row without a new byte
  std::chrono::milliseconds first_pause{500};  // doubled for each further one
};

// One file to fetch and what is known about it beforehand.
struct Download {
  HttpRequest request;
  std::filesystem::path destination;
  std::string label;                   // for messages and progress
  std::optional<std::uint64_t> bytes;  // where it is known
  std::optional<std::string> sha256;   // where it is known; else x-linked-etag is taken if the server sends one
};

// Fetches into DESTINATION.part, going on where an earlier call (or process) stopped, and renames when whole and right.
// Answers the SHA-256 that was checked, empty where none was known. A wrong sum removes the part file (kBadFile).
// 401, 403, 404 and the like are told with what to do; a lost connection and 5xx are retried.
base::Result<std::string> download_file(HttpClient& client, const Download& download, const DownloadOptions& options,
                                        Observer& observer);

// What an HTTP status of a hub means for a person; `what` is the repository or the file.
base::Error http_status_error(const HttpResponse& response, std::string_view what, bool has_token);

}  // namespace vitrine::hub
