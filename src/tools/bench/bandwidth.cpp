#include "tools/bench/bandwidth.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include "base/page_buffer.h"

namespace vitrine::tools {
namespace {

constexpr std::size_t kPieceWords = 16 * 1024;  // 128 KiB

// Several independent sums, so that the adder is never what is waited for.
std::uint64_t sum_of(std::span<const std::uint64_t> words) {
  std::array<std::uint64_t, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= words.size(); i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane)
      sums[lane] += words[i + lane];
  }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums)
    total += sum;
  for (; i < words.size(); ++i)
    total += words[i];
  return total;
}

}  // namespace

std::vector<double> read_bandwidth(base::ThreadPool& pool, std::size_t size_bytes, std::size_t num_runs) {
  using Clock = std::chrono::steady_clock;
  const std::size_t num_words = std::max(size_bytes / sizeof(std::uint64_t), kPieceWords);
  const base::PageBuffer memory(num_words * sizeof(std::uint64_t));  // as the weights lie
  const std::span words(reinterpret_cast<std::uint64_t*>(memory.data()), num_words);
  std::ranges::fill(words, 1);
  std::vector<double> rates;
  std::atomic<std::uint64_t> total{0};
  for (std::size_t run = 0; run <= num_runs; ++run) {
    const auto start = Clock::now();
    pool.for_range(words.size(), kPieceWords, [&](std::size_t, std::size_t begin, std::size_t end) {
      total.fetch_add(sum_of(words.subspan(begin, end - begin)), std::memory_order_relaxed);
    });
    const std::chrono::duration<double> seconds = Clock::now() - start;
    if (run > 0) rates.push_back(static_cast<double>(words.size() * sizeof(std::uint64_t)) / seconds.count());
  }
  // The sums are used, so the reads cannot be left out.
  if (total.load() != words.size() * (num_runs + 1)) return {};
  return rates;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

}  // namespace vitrine::tools
