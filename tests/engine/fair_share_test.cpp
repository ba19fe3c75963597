#include "engine/fair_share.h"

#include <gtest/gtest.h>

namespace vitrine::engine {
namespace {

TEST(FairShare, CountsWhatEachTenantWasServed) {
  FairShare shares;
  shares.enter("a");
  shares.enter("b");
  shares.charge("a", 100);
  shares.charge("a", FairShare::kGeneratedTokenCost);
  EXPECT_EQ(shares.served("a"), 102);
  EXPECT_EQ(shares.served("b"), 0);
  EXPECT_EQ(shares.num_active(), 2);
}

TEST(FairShare, ATenantThatComesBackIsLevelWithTheLeastServed) {
  FairShare shares;
  shares.enter("busy");
  shares.enter("idle");
  shares.leave("idle");
  shares.charge("busy", 1000);
  shares.enter("idle");
  EXPECT_EQ(shares.served("idle"), 1000) << "nothing is saved up";
}

TEST(FairShare, LeavingForAMomentForgivesNothing) {
  FairShare shares;
  shares.enter("modest");
  shares.enter("greedy");
  shares.charge("modest", 10);
  shares.charge("greedy", 500);
  shares.leave("greedy");
  shares.enter("greedy");
  EXPECT_EQ(shares.served("greedy"), 500);
}

TEST(FairShare, ForgetsTenantsThatWouldComeBackLevel) {
  FairShare shares;
  shares.enter("a");
  shares.enter("b");
  shares.charge("b", 5);
  shares.charge("a", 10);
  shares.leave("b");
  EXPECT_EQ(shares.served("b"), 0);
  shares.leave("a");
  EXPECT_EQ(shares.served("a"), 0) << "nobody is left to be fair to";
  EXPECT_EQ(shares.num_active(), 0);
}

}  // namespace
}  // namespace vitrine::engine
