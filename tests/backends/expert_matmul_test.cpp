// Products with the experts of a mixture: each choice must get the bits of an ordinary product of its row alone.
#include <deque>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/kernel_fixture.h"

namespace vitrine::backends::cpu {
namespace {

constexpr std::size_t kRows = 19;
constexpr std::size_t kExperts = 5;
constexpr std::size_t kChosen = 2;
constexpr std::size_t kOut = 37;  // the last tile is not full
constexpr std::size_t kIn = 256;
constexpr PathTable kPaths{NumericPath::kThroughput, NumericPath::kLatency};

using Experts = std::vector<std::unique_ptr<ops::Matrix>>;

struct Mixture {
  std::deque<testing::RandomWeight> weights;  // [kExperts]; they do not move
  std::vector<float> x;
  std::vector<ops::Role> roles;
  ops::ExpertChoices choices;

  Mixture(tensor::DType type, std::uint32_t seed) {
    testing::Random random(seed);
    for (std::size_t expert = 0; expert < kExperts; ++expert)
      weights.emplace_back(random, type, kOut, kIn);
    x = random.normal(kRows * kChosen * kIn);
    for (std::size_t row = 0; row < kRows; ++row)
      roles.push_back(row % 3 == 0 ? ops::Role::kGenerated : ops::Role::kPrompt);
    // Expert 3 is nobody's choice, so that an empty group is among them.
    std::vector<float> logits = random.normal(kRows * kExperts);
    for (std::size_t row = 0; row < kRows; ++row)
      logits[row * kExperts + 3] = -100.0F;
    ops::choose_experts({logits.data(), kRows, kExperts}, {.num_chosen = kChosen}, choices);
  }

  Experts load(CpuBackend& backend) const {
    Experts experts;
    for (const testing::RandomWeight& weight : weights)
      experts.push_back(backend.load_matrix(weight.view, ops::MatrixUse::kLayer));
    return experts;
  }

  // [num_choices, kOut]; `num_inputs` rows of x: one for each row, or one for each choice.
  std::vector<float> product(CpuBackend& backend, std::size_t num_inputs) {
    const Experts experts = load(backend);
    std::vector<float> out(choices.num_choices() * kOut);
    const ops::ExpertOutput output{experts, {out.data(), choices.num_choices(), kOut}};
    backend.expert_matmul({x.data(), num_inputs, kIn}, roles, choices, {&output, 1});
    return out;
  }

  // The same, a choice after the other.
  std::vector<float> one_by_one(CpuBackend& backend, std::size_t num_inputs) {
    const Experts experts = load(backend);
    std::vector<float> out(choices.num_choices() * kOut);
    for (std::size_t choice = 0; choice < choices.num_choices(); ++choice) {
      const std::size_t row = choice / kChosen;
      const std::size_t input = num_inputs == kRows ? row : choice;
      const ops::MatmulOutput output{experts[choices.experts[choice]].get(), {out.data() + choice * kOut, 1, kOut}};
      backend.matmul({x.data() + input * kIn, 1, kIn}, {&roles[row], 1}, {&output, 1});
    }
    return out;
  }
};

CpuBackend make_backend(Isa isa, std::size_t num_threads) {
  return CpuBackend({.isa = isa, .num_threads = num_threads, .paths = kPaths});
}

class ExpertMatmulTest : public ::testing::TestWithParam<tensor::DType> {};

TEST_P(ExpertMatmulTest, EveryChoiceHasTheBitsOfItsRowAlone) {
  Mixture mixture(GetParam(), 31);
  CpuBackend one = make_backend(Isa::kGeneric, 1);
  std::vector<Isa> isas = testing::fast_isas();
  isas.push_back(Isa::kGeneric);
  for (const std::size_t num_inputs : {kRows, kRows * kChosen}) {
    const std::vector<float> wanted = mixture.one_by_one(one, num_inputs);
    for (const Isa isa : isas) {
      CpuBackend backend = make_backend(isa, 2);
      EXPECT_EQ(mixture.product(backend, num_inputs), wanted) << isa_name(isa) << " " << num_inputs << " inputs";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ExpertMatmulTest,
                         ::testing::Values(tensor::DType::kF32, tensor::DType::kBF16, tensor::DType::kQ8_0,
                                           tensor::DType::kQ4_K, tensor::DType::kTQ2_0),
                         [](const auto& test) { return std::string(tensor::dtype_info(test.param).name); });

TEST(CombineExperts, SumsInTheOrderOfTheChoices) {
  // In another order the small terms would not survive.
  std::vector<float> answers = {1e8F, 1.0F, -1e8F, 2.0F, 1.0F, 3.0F};
  std::vector<float> out(2);
  const ops::ExpertChoices choices{
      .num_experts = 4, .num_chosen = 3, .experts = {2, 0, 1}, .weights = {1.0F, 1.0F, 0.5F}};
  CpuBackend backend = make_backend(Isa::kGeneric, 1);
  backend.combine_experts({answers.data(), 3, 2}, choices, {out.data(), 1, 2});
  EXPECT_EQ(out, (std::vector<float>{0.5F, 4.5F}));
}

}  // namespace
}  // namespace vitrine::backends::cpu
