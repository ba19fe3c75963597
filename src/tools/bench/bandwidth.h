#pragma once

#include <cstddef>
#include <vector>

#include "base/thread_pool.h"

namespace vitrine::tools {

// How fast memory can be read: a streaming sum over `size_bytes` that the pool's threads share out, `num_runs` times
// after one that is not counted. Bytes per second of each run. It is the roof of decoding a model of that size, whose
// weights are read once a token.
std::vector<double> read_bandwidth(base::ThreadPool& pool, std::size_t size_bytes, std::size_t num_runs);

// The middle value, or the mean of the two in the middle; 0 for none.
double median(std::vector<double> values);

}  // namespace vitrine::tools
