#include "base/page_buffer.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include <gtest/gtest.h>

namespace vitrine::base {
namespace {

TEST(PageBuffer, IsZeroedAndOnAHugePagesBoundary) {
  for (const std::size_t size : {std::size_t{1}, PageBuffer::kHugePageBytes, 3 * PageBuffer::kHugePageBytes + 5}) {
    const PageBuffer buffer(size);
    EXPECT_EQ(buffer.size_bytes(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % PageBuffer::kHugePageBytes, 0U);
    const std::span bytes(buffer.data(), size);
    EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte value) { return value == std::byte{0}; }));
    std::ranges::fill(bytes, std::byte{1});
  }
}

TEST(PageBuffer, MovesItsMemory) {
  PageBuffer first(100);
  first.data()[0] = std::byte{7};
  PageBuffer second(std::move(first));
  PageBuffer third(200);
  third = std::move(second);
  EXPECT_EQ(third.size_bytes(), 100U);
  EXPECT_EQ(third.data()[0], std::byte{7});
  EXPECT_EQ(PageBuffer().data(), nullptr);
}

TEST(PageBuffer, WhatTheSystemRefusesIsBadAlloc) {
  EXPECT_THROW(PageBuffer(std::size_t{1} << 62U), std::bad_alloc);
  EXPECT_THROW(PageBuffer(~std::size_t{0}), std::bad_alloc);
}

TEST(PageVector, GrowsFromSmallBlocksIntoHugePages) {
  PageVector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < PageBuffer::kHugePageBytes / 4; ++i)
    numbers.push_back(i);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers.data()) % PageBuffer::kHugePageBytes, 0u);
  const PageVector<std::uint64_t> copy = numbers;
  numbers.resize(3);
  numbers.shrink_to_fit();
  EXPECT_EQ(numbers, (PageVector<std::uint64_t>{0, 1, 2}));
  for (std::uint64_t i = 0; i < copy.size(); ++i)
    ASSERT_EQ(copy[i], i);
}

}  // namespace
}  // namespace vitrine::base
