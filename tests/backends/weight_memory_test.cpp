#include "backends/cpu/weight_memory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "support/random_seed.h"
#include "support/temp_dir.h"

namespace vitrine::backends::cpu {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlockBytes = (std::size_t{9} << 20U) + 100;  // two are large enough to be kept

std::byte value_at(std::size_t block_idx, std::size_t i) {
  return static_cast<std::byte>((i * 2654435761U + block_idx * 97) >> 7U);
}

class WeightMemoryTest : public ::testing::Test {
 protected:
  PackedCache cache(const std::string& key = "a model") const { return {folder_.path() / "packed", key, 1U << 30U}; }

  // Two weights as a start takes them, packing what is not there; how many were. Every byte is checked.
  static std::size_t start(const std::optional<PackedCache>& cache, std::uint64_t fingerprint = 1) {
    base::ThreadPool pool(2);
    WeightMemory memory(cache);
    std::size_t num_filled = 0;
    for (std::size_t block_idx = 0; block_idx < 2; ++block_idx) {
      const WeightMemory::Block block = memory.take(fingerprint + block_idx, kBlockBytes, pool);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data) % 64, 0U);
      for (std::size_t i = 0; i < kBlockBytes; ++i) {
        const std::byte wanted = block.is_filled ? value_at(block_idx, i) : std::byte{0};
        if (block.data[i] != wanted) {
          ADD_FAILURE() << "block " << block_idx << " byte " << i;
          break;
        }
        block.data[i] = value_at(block_idx, i);
      }
      num_filled += block.is_filled ? 1 : 0;
    }
    EXPECT_EQ(memory.bytes_from_cache(), num_filled * kBlockBytes);
    memory.finish();
    return num_filled;
  }

  fs::path only_file() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "packed"))
      files.push_back(entry.path());
    EXPECT_EQ(files.size(), 1U);
    return files.at(0);
  }

  static void flip_byte(const fs::path& path, std::uint64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const auto value = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(value);
  }

  testing::TempDir folder_;
};

TEST_F(WeightMemoryTest, TheNextStartReadsWhatThisOnePacked) {
  EXPECT_EQ(start(cache()), 0U);
  EXPECT_EQ(start(cache()), 2U);
  EXPECT_EQ(start(std::nullopt), 0U);
}

TEST_F(WeightMemoryTest, OtherModelsAndOtherWeightsArePackedAnew) {
  start(cache());
  EXPECT_EQ(start(cache("another model")), 0U);
  EXPECT_EQ(start(cache(), 7), 0U);
  EXPECT_EQ(start(cache(), 7), 2U) << "what was packed last is kept";
}

TEST_F(WeightMemoryTest, ADamagedBlockIsPackedAnewAndTheFileMended) {
  start(cache());
  flip_byte(only_file(), 5'000'000);
  EXPECT_EQ(start(cache()), 1U);
  EXPECT_EQ(start(cache()), 2U);
}

TEST_F(WeightMemoryTest, NoDamageIsTakenForWeights) {
  start(cache());
  const fs::path path = only_file();
  const fs::path whole = folder_.path() / "whole";
  fs::copy_file(path, whole);
  const std::uint64_t size = fs::file_size(path);
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 12; ++round) {
    fs::copy_file(whole, path, fs::copy_options::overwrite_existing);
    const std::uint64_t at = round % 2 == 0 ? random() % 64 : size - 1 - random() % 200;
    if (round % 4 == 3) {
      fs::resize_file(path, at);
    } else {
      flip_byte(path, at);
    }
    EXPECT_EQ(start(cache()), 0U) << "byte " << at;
  }
}

TEST_F(WeightMemoryTest, AFolderThatCannotBeWrittenIsAsNone) {
  PackedCache nowhere = cache();
  nowhere.folder = folder_.write("a file", "") / "packed";
  EXPECT_EQ(start(nowhere), 0U);
  EXPECT_EQ(start(nowhere), 0U);
}

TEST_F(WeightMemoryTest, SmallModelsAndThoseBeyondTheLimitAreNotKept) {
  PackedCache tight = cache();
  tight.limit_bytes = kBlockBytes;
  EXPECT_EQ(start(tight), 0U);
  EXPECT_FALSE(fs::exists(tight.folder));
  base::ThreadPool pool(1);
  WeightMemory small(cache());
  small.take(1, 1000, pool);
  small.finish();
  EXPECT_FALSE(fs::exists(tight.folder));
}

TEST_F(WeightMemoryTest, TheLeastRecentlyUsedFilesGoFirst) {
  const auto write = [&](const char* name, int hours_ago) {
    const fs::path path = folder_.write(name, std::string(1000, 'x'));
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours_ago));
    return path;
  };
  const fs::path oldest = write("1.packed", 3);
  const fs::path middle = write("2.packed", 2);
  const fs::path newest = write("3.packed", 1);
  const fs::path other = write("notes.txt", 9);
  trim_packed_files(folder_.path(), 2000, newest);
  EXPECT_FALSE(fs::exists(oldest));
  EXPECT_TRUE(fs::exists(middle));
  trim_packed_files(folder_.path(), 0, middle);
  EXPECT_TRUE(fs::exists(middle));
  EXPECT_FALSE(fs::exists(newest));
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(WeightMemoryTest, WhatADeadWriterLeftGoesAndALivingOnesStays) {
  const fs::path dead = folder_.write("a.packed.1.unfinished", "x");
  const fs::path living = folder_.write("b.packed.2.unfinished", "x");
  const int descriptor = ::open(living.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  trim_packed_files(folder_.path(), 1000, {});
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(living));
  ::close(descriptor);
}

}  // namespace
}  // namespace vitrine::backends::cpu
