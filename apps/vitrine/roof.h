#pragma once

#include <cstddef>

#include "explain/report.h"
#include "vitrine/backend_choice.h"

namespace vitrine::cli {

// Rows of a prompt's step that the rate of products is measured with.
inline constexpr std::size_t kRoofPromptRows = 256;

// Bytes per second in which that many are read from memory; of more than 512 MiB, that many stand for them all.
double measure_read_rate(std::size_t num_threads, double bytes);
// Both roofs for a model, in about half a second with all threads.
explain::Roof measure_roof(const BackendChoice& choice, tensor::DType weight_type, std::size_t weight_bytes);

}  // namespace vitrine::cli
