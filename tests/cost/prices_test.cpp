#include "cost/prices.h"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/result.h"
#include "base/utc_date.h"
#include "support/temp_dir.h"

namespace vitrine::cost {
namespace {

using ::testing::HasSubstr;

class Prices : public ::testing::Test {
 protected:
  PriceTable table(const std::string& text) const {
    std::ofstream(temp_.path() / "prices.toml") << text;
    return PriceTable(temp_.path() / "prices.toml");
  }
  std::string refusal(const std::string& text) const {
    try {
      table(text);
    } catch (const base::Exception& error) {
      EXPECT_EQ(error.error().kind, base::ErrorKind::kConfig);
      EXPECT_THAT(error.what(), HasSubstr("prices.toml"));
      return error.what();
    }
    return "";
  }

  testing::TempDir temp_;
};

TEST_F(Prices, EachKindOfTokenHasItsOwn) {
  const PriceTable prices = table(R"(
currency = "USD"
[models."tiny"]
input = 0.05
cached_input = 0.01
output = 0.20
[models.other]
input = 1
output = 3
)");
  const Cost cost = prices.cost("tiny", 1000, 400, 10);
  EXPECT_EQ(cost.currency, "USD");
  EXPECT_EQ(cost.nano, 600 * 50 + 400 * 10 + 10 * 200);
  EXPECT_EQ(prices.cost("other", 1000, 1000, 0).nano, 1000 * 1000) << "cached as all input where it has no price";
  EXPECT_EQ(prices.cost("third", 1000, 0, 10).currency, "");
  EXPECT_EQ(prices.cost("third", 1000, 0, 10).nano, 0);
}

TEST_F(Prices, PartsOfABillionthAreRounded) {
  const PriceTable prices = table("currency = 'EUR'\n[models.tiny]\ninput = 0.0004\noutput = 0.0005\n");
  EXPECT_EQ(prices.cost("tiny", 1, 0, 0).nano, 0);
  EXPECT_EQ(prices.cost("tiny", 0, 0, 1).nano, 1);
  EXPECT_EQ(prices.cost("tiny", 1000, 0, 0).nano, 400);
}

TEST_F(Prices, TheHighestPriceOfManyTokensFits) {
  const PriceTable prices = table("currency = 'IDR'\n[models.tiny]\ninput = 100000\noutput = 100000\n");
  EXPECT_EQ(prices.cost("tiny", 40'000'000, 0, 40'000'000).nano, 8'000'000'000'000'000);
}

TEST_F(Prices, TheBuiltInOnesAreDatedAndNameTheirTokenizers) {
  const PriceTable prices = PriceTable::builtin();
  EXPECT_TRUE(base::parse_day(prices.date()));
  EXPECT_EQ(prices.currency(), "USD");
  EXPECT_GE(prices.models().size(), 10U);
  for (const std::string& model : prices.models()) {
    EXPECT_THAT(prices.find(model)->tokenizer, ::testing::StartsWith("tok:")) << model;
    EXPECT_LE(prices.find(model)->cached_input, prices.find(model)->input) << model;
  }
  EXPECT_EQ(prices.find("gpt-4o")->input, 2'500'000);
}

TEST_F(Prices, ACallCostsItsPartsAtTheirPrices) {
  const Price price{.input = 2'500'000, .cached_input = 1'250'000, .output = 10'000'000};
  EXPECT_DOUBLE_EQ(cost_per_call(price, {.prompt = 27}), 0.0000675);
  EXPECT_DOUBLE_EQ(cost_per_call(price, {.prompt = 1000, .cached = 800, .output = 100}),
                   200 * 2.5e-6 + 800 * 1.25e-6 + 100 * 10e-6);
}

TEST_F(Prices, APriceOnTheCommandLineIsChecked) {
  EXPECT_EQ(parse_price("2.5", "--price"), 2'500'000);
  EXPECT_EQ(parse_price("0", "--price"), 0);
  for (const char* const text : {"", "x", "-1", "1e9", "nan", "2.5 USD"})
    EXPECT_THROW(parse_price(text, "--price"), base::Exception) << text;
}

TEST_F(Prices, WhatIsWrongIsNamed) {
  EXPECT_THAT(refusal("date = 'soon'\ncurrency = 'USD'\n[models.tiny]\ninput = 1\noutput = 1\n"), HasSubstr("date"));
  EXPECT_THAT(refusal("currency = 'USD'\n[models.tiny]\ninput = 1\noutput = 1\ntokenizer = 1\n"),
              HasSubstr("models.tiny.tokenizer"));
  EXPECT_THAT(refusal("[models.tiny]\ninput = 1\noutput = 1\n"), HasSubstr("currency"));
  EXPECT_THAT(refusal("currency = 'USD'\n"), HasSubstr("models"));
  EXPECT_THAT(refusal("currency = 'USD'\nmodels = 1\n"), HasSubstr("models"));
  EXPECT_THAT(refusal("currency = 'USD'\n[models]\ntiny = 1\n"), HasSubstr("models.tiny"));
  EXPECT_THAT(refusal("currency = 'USD'\n[models.tiny]\ninput = 1\n"), HasSubstr("give input and output"));
  EXPECT_THAT(refusal("currency = 'USD'\n[models.tiny]\ninput = -1\noutput = 1\n"), HasSubstr("models.tiny.input"));
  EXPECT_THAT(refusal("currency = 'USD'\n[models.tiny]\ninput = 'x'\noutput = 1\n"), HasSubstr("models.tiny.input"));
  EXPECT_THAT(refusal("currency = 'USD'\n[models.tiny]\ninput = nan\noutput = 1\n"), HasSubstr("models.tiny.input"));
  EXPECT_THAT(refusal("currency = 'USD'\n[models.tiny]\ninptu = 1\n"), HasSubstr("models.tiny.inptu"));
  EXPECT_THAT(refusal("currency = \n"), HasSubstr("line 1"));
  EXPECT_THROW(PriceTable(temp_.path() / "none.toml"), base::Exception);
}

}  // namespace
}  // namespace vitrine::cost
