#pragma once

#include <cstdint>

namespace vitrine {

// An index into a model's vocabulary. Negative values never name a token.
using TokenId = std::int32_t;

}  // namespace vitrine
