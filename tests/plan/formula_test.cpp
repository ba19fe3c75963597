#include "plan/formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vitrine::plan {
namespace {

using tensor::DType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

KvFormula formula_of(const char* name, DType type, std::size_t context_length, std::size_t batch = 1) {
  const Network network = network_of(*find_model_shape(name), TensorTypes::parse("q8_0").value_or_throw());
  return kv_formula(network, type, context_length, batch).value_or_throw();
}

TEST(KvFormula, TheCopiedOneIsRightWhereEveryHeadKeepsItsOwn) {
  for (const char* name : {"gpt2", "llama-2-7b"}) {
    const KvFormula formula = formula_of(name, DType::kF16, 1000, 3);
    EXPECT_EQ(formula.copied_bytes, static_cast<double>(formula.bytes)) << name;
    EXPECT_THAT(formula.reasons, IsEmpty());
  }
}

TEST(KvFormula, GroupedQueriesAreWhyItIsWrongForLlama3) {
  const KvFormula formula = formula_of("llama-3.1-8b", DType::kF16, 4096);
  EXPECT_EQ(formula.formula, "1 sequence x 4,096 tokens x 32 layers x 8 KV heads x (128 + 128) x 2 bytes");
  EXPECT_EQ(formula.bytes, 536'870'912U);
  EXPECT_EQ(formula.copied_bytes, 4.0 * 536'870'912.0);
  EXPECT_THAT(formula.reasons, ElementsAre(HasSubstr("4 query heads share")));
}

TEST(KvFormula, SaysWhatGemmaAndDeepSeekDoOtherwise) {
  EXPECT_THAT(formula_of("gemma-3-270m", DType::kQ8_0, 4096).reasons,
              ElementsAre(HasSubstr("multi-query"), HasSubstr("256 wide"), HasSubstr("15 of 18 layers"),
                          HasSubstr("34 / 32 bytes")));
  EXPECT_THAT(formula_of("gemma-3-270m", DType::kF16, 4096).formula,
              HasSubstr("(3 layers x 4,096 tokens + 15 windowed layers x min(4,096, 512))"));
  EXPECT_THAT(formula_of("deepseek-v3", DType::kF16, 4096).reasons, ElementsAre(HasSubstr("latent vector of 576")));
  EXPECT_THAT(formula_of("deepseek-v3-mha", DType::kF16, 4096).reasons,
              ElementsAre(HasSubstr("192 wide"), HasSubstr("a key has 192 numbers and a value 128")));
}

TEST(Grouped, PutsACommaBeforeEachThreeDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
}

}  // namespace
}  // namespace vitrine::plan
