#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "loader/gguf_writer.h"
#include "plan/model_shape.h"
#include "plan/tensor_types.h"
#include "tools/hub/observer.h"

namespace vitrine::tools {

// The header of a GGUF file of this shape: what Vitrine and llama.cpp read of it, and every tensor.
loader::GgufOutline synth_outline(const plan::ModelShape& shape, const plan::TensorTypes& types);

struct SynthOptions {
  std::uint64_t seed = 0;
  std::size_t num_threads = 1;
};

// Writes a model of random weights: bell-shaped, with a standard deviation of 1 / sqrt(columns), so that activations
// stay of order 1; norms lie around 1. The same outline and seed give the same bytes, whatever the number of threads.
// Needs a few tens of MB of memory, however large the file. Throws base::Exception: kIo, or kInterrupted where the
// observer cancels; nothing is left behind then.
void write_synth(const std::filesystem::path& path, const loader::GgufOutline& outline, const SynthOptions& options,
                 hub::Observer& observer);

}  // namespace vitrine::tools
