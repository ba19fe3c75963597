#pragma once

#include <span>
#include <vector>

#include "engine/fair_share.h"
#include "engine/sequence.h"

namespace vitrine::engine {

// In which order those that wait would begin if nobody else came and none that runs got on: by QueueKey, but among
// those of equal rank first the ones that had begun already, then always the first of the tenant served least, each
// being charged for its prompt. `waiting` is in the order of its keys.
std::vector<Sequence*> waiting_order(std::span<Sequence* const> waiting, const FairShare& shares);

}  // namespace vitrine::engine
