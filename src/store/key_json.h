#pragma once

#include <nlohmann/json.hpp>

#include "store/key_limits.h"
#include "store/key_store.h"

namespace vitrine::store {

// Keys and limits as the command line and the admin API write them. Times are seconds since 1970.
// Those there are; `models` where not all are allowed, `plan` where there is one.
nlohmann::ordered_json to_json(const KeyLimits& limits);
nlohmann::ordered_json to_json(const KeyInfo& key);
// {"id", "name", "role", "key"}: the key's text at the only moment at which it is known.
nlohmann::ordered_json to_json(const NewKey& key);

// From an object: a number or null (the limit goes) by each name, `models` an array of names or null, `plan` a name or
// null. Throws base::Exception (kUsage) naming the member; ranges are not checked here.
LimitChanges read_limit_changes(const nlohmann::ordered_json& object);

}  // namespace vitrine::store
