#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "tensor/dtype.h"

namespace vitrine::testing {

struct GgufCopyOptions {
  tensor::DType matrix_type = tensor::DType::kF32;  // of matrices; norms and routers stay float32
  bool stack_experts = true;                        // false: a tensor per expert, as the first files had them
  std::set<std::string> leave_out = {};             // GGUF names of tensors
};

// Writes one of the tiny Hugging Face models (llama, mixtral, qwen3, qwen3_moe) as a GGUF file.
void write_gguf_copy(const std::filesystem::path& model, const std::filesystem::path& gguf,
                     const GgufCopyOptions& options = {});

}  // namespace vitrine::testing
