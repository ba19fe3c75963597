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

}  // namespace
}  // namespace vitrine::base
