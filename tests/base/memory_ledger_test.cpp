#include "base/memory_ledger.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace vitrine::base {
namespace {

TEST(MemoryLedger, SumsWhatWasAddedAndNotRemovedPerKind) {
  MemoryLedger ledger;
  ledger.add(MemoryKind::kWeights, 100);
  ledger.add(MemoryKind::kKv, 30);
  ledger.add(MemoryKind::kKv, 12);
  ledger.remove(MemoryKind::kKv, 30);
  EXPECT_EQ(ledger.bytes(MemoryKind::kWeights), 100);
  EXPECT_EQ(ledger.bytes(MemoryKind::kKv), 12);
  EXPECT_EQ(ledger.total_bytes(), 112);
  EXPECT_EQ(memory_kind_name(MemoryKind::kPrefixCache), "prefix_cache");
}

TEST(RssBytes, GrowsWithMemoryThatIsWritten) {
  const auto before = rss_bytes();
  ASSERT_TRUE(before);
  constexpr std::size_t kBytes = 64U << 20U;
  std::vector<char> touched(kBytes, 'x');
  const auto after = rss_bytes();
  ASSERT_TRUE(after);
  EXPECT_GE(*after + (8U << 20U), *before + kBytes);
  EXPECT_EQ(touched.back(), 'x');
}

}  // namespace
}  // namespace vitrine::base
