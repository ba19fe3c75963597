#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/network.h"
#include "tensor/dtype.h"

namespace vitrine::plan {

// The size of a KV cache with a model's numbers put in, beside the formula that is copied from page to page.
struct KvFormula {
  std::string formula;        // "2 sequences x 4,096 tokens x 32 layers x 8 KV heads x (128 + 128) x 2 bytes"
  std::size_t bytes = 0;      // what it comes to
  std::string copied;         // "batch x length x 2 x layers x hidden x 2 bytes" with the same numbers
  double copied_bytes = 0.0;  // what that says
  // Why they differ, a clause each; empty where they agree.
  std::vector<std::string> reasons;
};

// Fails as kv_row_bytes does.
base::Result<KvFormula> kv_formula(const Network& network, tensor::DType type, std::size_t context_length,
                                   std::size_t batch);

// 1234567 as "1,234,567".
std::string grouped(std::size_t number);

}  // namespace vitrine::plan
