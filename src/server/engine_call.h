#pragma once

#include <functional>

#include "server/awaitable.h"
#include "server/served_model.h"

namespace vitrine::server {

// Runs `piece` on the engine thread of a model, between its steps, again and again until it returns false, and waits
// for that. What it throws comes out here; ApiException (503) where the engine takes none of it for half a minute. It
// may go on when the one who waits is gone, so it owns, or shares, all that it uses; the model lives as long as its
// engine does.
Awaitable<void> run_on_engine(const ServedModel& model, std::function<bool()> piece);

}  // namespace vitrine::server
