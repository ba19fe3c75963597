#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tensor/dtype.h"

namespace vitrine::plan {

// Which type each matrix of a model gets: one for all, or a mix as llama.cpp's quantize tool documents them (Q4_K_S,
// Q4_K_M, Q5_K_S, Q5_K_M), where the head, the values' projection and ffn_down are finer in some layers.
class TensorTypes {
 public:
  struct Place {
    std::string_view part;  // "attn_v", "ffn_down_exps", "output", ...
    bool is_head = false;   // the output matrix, or the embedding that stands for it
    std::size_t layer_idx = 0;
    std::size_t num_layers = 0;
    std::size_t num_experts = 0;
    std::size_t num_columns = 0;
  };

  // "q4_k_m" or any type that can be encoded ("q8_0", "f16", ...), in any case. kUsage names those.
  static base::Result<TensorTypes> parse(std::string_view name);

  // A row that does not fill whole blocks of 256 takes the nearest type with blocks of 32, as llama.cpp does it.
  tensor::DType of(const Place& place) const;

 private:
  TensorTypes(tensor::DType base, char mix) : base_(base), mix_(mix) {}
  tensor::DType wanted(const Place& place) const;

  tensor::DType base_;
  char mix_;  // 's' or 'm'; 0: one type for all
};

}  // namespace vitrine::plan
