#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace vitrine::loader {

// What a JSON file of a model folder may cost us. A value takes at most about 100 bytes of heap, text not counted.
struct JsonLimits {
  std::size_t max_bytes = std::size_t{16} << 20U;
  std::size_t max_depth = 64;
  std::size_t max_values = 500'000;
};

// Parses a JSON object, for files small enough to hold as a tree. Never throws anything but base::Exception (kBadFile,
// without a file name). Where a key is repeated the last one counts, as for the tools that write these files.
nlohmann::json parse_json_object(std::string_view text, const JsonLimits& limits = {});

// The same for a file; kMissing when it is not there. The error names the file.
base::Result<nlohmann::json> read_json_object(const std::filesystem::path& path, const JsonLimits& limits = {});

}  // namespace vitrine::loader
