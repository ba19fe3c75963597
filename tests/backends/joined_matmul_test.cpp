// Products of rows that are normed or gated on the way, against one operation after the other.
#include <array>
#include <cstring>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/kernel_fixture.h"

namespace vitrine::backends::cpu {
namespace {

constexpr float kEps = 1e-5F;

// Two matrices of one input, rows of both roles.
class JoinedMatmul {
 public:
  JoinedMatmul(Isa isa, PathTable paths, tensor::DType type, std::size_t num_rows, std::size_t k)
      : backend_({.isa = isa, .num_threads = 2, .paths = paths}),
        random_(71),
        first_weight_(random_, type, 37, k),
        second_weight_(random_, tensor::DType::kQ8_0, 16, k),
        first_(backend_.load_matrix(first_weight_.view, ops::MatrixUse::kLayer)),
        second_(backend_.load_matrix(second_weight_.view, ops::MatrixUse::kLayer)),
        num_rows_(num_rows),
        k_(k) {
    for (std::size_t i = 0; i < num_rows; ++i)
      roles_.push_back(i % 3 == 2 ? ops::Role::kGenerated : ops::Role::kPrompt);
  }

  std::vector<float> input() { return random_.normal(num_rows_ * k_); }
  ops::Rows rows(std::vector<float>& values) const { return {values.data(), num_rows_, k_}; }

  // What both matrices make of the input that `multiply` gives them.
  using Multiply = std::function<void(CpuBackend&, std::span<const ops::Role>, std::span<const ops::MatmulOutput>)>;
  std::vector<float> run(const Multiply& multiply) {
    const std::size_t first = first_->out_features();
    const std::size_t second = second_->out_features();
    std::vector<float> out(num_rows_ * (first + second));
    const std::array outputs = {
        ops::MatmulOutput{first_.get(), {out.data(), num_rows_, first}},
        ops::MatmulOutput{second_.get(), {out.data() + num_rows_ * first, num_rows_, second}},
    };
    multiply(backend_, roles_, outputs);
    return out;
  }

  void expect_same_normed(const std::vector<float>& x, const std::vector<float>& weight) {
    std::vector<float> values = x;
    std::vector<float> normed(x.size());
    const auto apart = run([&](CpuBackend& backend, auto roles, auto outputs) {
      backend.rms_norm(rows(values), weight, kEps, rows(normed));
      backend.matmul(rows(normed), roles, outputs);
    });
    const auto joined = run([&](CpuBackend& backend, auto roles, auto outputs) {
      backend.matmul_normed({rows(values), weight, kEps}, rows(normed), roles, outputs);
    });
    expect_same_bits(joined, apart);
    EXPECT_EQ(std::memcmp(values.data(), x.data(), x.size() * sizeof(float)), 0) << "the input is read alone";
  }

  void expect_same_gated(ops::Activation activation, const std::vector<float>& x, std::vector<float> up) {
    std::vector<float> gate = x;
    const auto apart = run([&](CpuBackend& backend, auto roles, auto outputs) {
      backend.activate_and_multiply(activation, rows(gate), rows(up));
      backend.matmul(rows(gate), roles, outputs);
    });
    gate = x;
    const auto joined = run([&](CpuBackend& backend, auto roles, auto outputs) {
      backend.matmul_gated({activation, rows(gate), rows(up)}, roles, outputs);
    });
    expect_same_bits(joined, apart);
  }

 private:
  static void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
  }

  CpuBackend backend_;
  testing::Random random_;
  testing::RandomWeight first_weight_;
  testing::RandomWeight second_weight_;
  std::unique_ptr<ops::Matrix> first_;
  std::unique_ptr<ops::Matrix> second_;
  std::size_t num_rows_;
  std::size_t k_;
  std::vector<ops::Role> roles_;
};

TEST(JoinedMatmul, GivesTheBitsOfOneOperationAfterTheOther) {
  const PathTable throughput{NumericPath::kThroughput, NumericPath::kLatency};
  // Of all codes, of floats among codes, and of blocks that are decoded whenever they are used.
  constexpr std::array kTypes = {tensor::DType::kQ4_1, tensor::DType::kF16, tensor::DType::kTQ2_0};
  for (const Isa isa : testing::all_isas()) {
    for (const PathTable paths : {PathTable{}, throughput, PathTable::reference()}) {
      for (const tensor::DType type : kTypes) {
        for (const std::size_t num_rows : {1, 3, 40}) {
          for (const std::size_t k : {256, 768, 1536}) {  // the second is a group of stretches and a half
            SCOPED_TRACE(::testing::Message() << isa_name(isa) << ", " << paths.name() << ", type "
                                              << tensor::dtype_info(type).name << ", " << num_rows << " rows of " << k);
            JoinedMatmul joined(isa, paths, type, num_rows, k);
            joined.expect_same_normed(joined.input(), testing::Random(5).normal(k));
            for (const auto activation : {ops::Activation::kSilu, ops::Activation::kGeluTanh})
              joined.expect_same_gated(activation, joined.input(), joined.input());
          }
        }
      }
    }
  }
}

// A NaN or an infinity in a row must reach its results either way, and no other row's.
TEST(JoinedMatmul, PassesOnWhatIsNotFinite) {
  for (const Isa isa : testing::all_isas()) {
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      SCOPED_TRACE(::testing::Message() << isa_name(isa) << ", " << bad);
      JoinedMatmul joined(isa, {}, tensor::DType::kQ4_1, 3, 256);
      std::vector<float> x = joined.input();
      x[256 + 77] = bad;
      joined.expect_same_normed(x, testing::Random(5).normal(256));
      joined.expect_same_gated(ops::Activation::kSilu, x, joined.input());
      joined.expect_same_gated(ops::Activation::kSilu, joined.input(), x);
    }
  }
}

}  // namespace
}  // namespace vitrine::backends::cpu
