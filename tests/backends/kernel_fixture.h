#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/isa.h"
#include "quant/quant_format.h"
#include "support/reference_data.h"
#include "tensor/tensor.h"

namespace vitrine::testing {

// Levels above generic: each is compared with generic where the machine has it, and counted as skipped where not.
inline std::vector<backends::cpu::Isa> fast_isas() {
  using enum backends::cpu::Isa;
  std::vector<backends::cpu::Isa> result;
  for (const auto isa : {kAvx2, kAvx512, kAvx512Bf16, kAmx}) {
    const std::string name(backends::cpu::isa_name(isa));
    if (backends::cpu::choose_isa(name)) {
      count_cases("kernels " + name, 1);
      result.push_back(isa);
    } else {
      count_skipped("kernels " + name, 1, "this machine lacks " + name);
    }
  }
  return result;
}

inline std::vector<backends::cpu::Isa> all_isas() {
  std::vector<backends::cpu::Isa> isas = fast_isas();
  isas.push_back(backends::cpu::Isa::kGeneric);
  return isas;
}

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {
    ::testing::Test::RecordProperty("seed", static_cast<int>(seed));
  }

  std::vector<float> normal(std::size_t size, float deviation = 1.0F) {
    std::normal_distribution<float> distribution(0.0F, deviation);
    std::vector<float> values(size);
    for (float& value : values)
      value = distribution(engine_);
    return values;
  }

 private:
  std::mt19937 engine_;
};

// A weight [rows, k] of random values in a format that we can quantise to.
struct RandomWeight {
  std::vector<std::byte> bytes;
  tensor::TensorView view;

  RandomWeight(Random& random, tensor::DType type, std::size_t rows, std::size_t k)
      : bytes(rows * *tensor::dtype_bytes(type, k)), view{type, {rows, k}, bytes.data()} {
    const std::vector<float> values = random.normal(rows * k, 0.1F);
    quant::find_quant_format(type)->encode(values.data(), bytes.data(), rows * k);
  }
  RandomWeight(const RandomWeight&) = delete;
  RandomWeight& operator=(const RandomWeight&) = delete;

  std::vector<float> decoded_row(std::size_t row_idx) const {
    std::vector<float> row(view.shape[1]);
    quant::find_quant_format(view.type)->decode(view.row(row_idx), row.data(), row.size());
    return row;
  }
};

}  // namespace vitrine::testing
