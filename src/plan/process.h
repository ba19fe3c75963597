#pragma once

#include <cstddef>

#include "plan/network.h"

namespace vitrine::plan {

// What the process takes beside weights, cache and buffers: program and libraries, threads, the tokenizer, the header
// of the model's file, which stays mapped.
std::size_t process_bytes(const Network& network, std::size_t num_threads);

}  // namespace vitrine::plan
