#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace vitrine::testing {

// Runs `work` in a process of its own, which gets a descriptor to tell what it did, and kills it after a while. What it
// told. `work` must not return.
std::string run_and_kill(const std::function<void(int told_to)>& work, std::chrono::microseconds after);

}  // namespace vitrine::testing
