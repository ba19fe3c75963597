#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "base/token_id.h"
#include "models/model.h"
#include "tensor/dtype.h"

namespace vitrine::cli {

struct DumpSettings {
  tensor::DType kv_type = tensor::DType::kF16;
  std::size_t max_chunk_tokens = 512;
  std::size_t available_bytes = 0;  // memory that the values may take
};

// Computes a prompt once more, in chunks, and writes what every part gave for every row as .npy files into `folder`,
// which is made where it is absent: input_ids [n] int64; embedding, hidden_00 (as it enters layer 0) to hidden_NN
// (after layer NN), final_norm [n, hidden] and logits [n, vocab], float32. The ids must be inside the vocabulary and
// no more than the context. Throws base::Exception (kNoMemory, kIo).
void dump_tensors(const models::Model& model, const std::vector<TokenId>& prompt, const std::filesystem::path& folder,
                  const DumpSettings& settings);

}  // namespace vitrine::cli
