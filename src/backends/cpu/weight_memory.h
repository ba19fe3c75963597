#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backends/cpu/packed_file.h"
#include "base/page_buffer.h"
#include "base/thread_pool.h"

namespace vitrine::backends::cpu {

// Where a model's packed weights lie between starts.
struct PackedCache {
  std::filesystem::path folder;   // made where it is missing
  std::string key;                // of the model's files; other files, other key
  std::uint64_t limit_bytes = 0;  // of all files in the folder
};

// Where in a row of chunks the weights lie, one behind the other. Integers only.
class WeightPlacement {
 public:
  struct Place {
    std::size_t chunk_idx = 0;
    std::size_t offset_bytes = 0;
  };
  Place add(std::size_t size_bytes);
  // Of the chunk that the last weight lies in.
  std::size_t chunk_bytes() const { return chunk_bytes_; }
  // Memory that the system gives for what lies there: huge pages, those of a chunk's end untouched.
  std::size_t resident_bytes() const;

 private:
  std::size_t num_chunks_ = 0;
  std::size_t chunk_bytes_ = 0;
  std::size_t used_bytes_ = 0;      // of the last chunk
  std::size_t finished_bytes_ = 0;  // resident, of the chunks before it
};

// The memory of a model's packed weights, in huge pages. With a cache, what an earlier start packed is read instead,
// and what was packed now is written behind the caller's back. A cache that can't be read or written is as none. Used
// by one thread.
class WeightMemory {
 public:
  explicit WeightMemory(std::optional<PackedCache> cache);
  WeightMemory(const WeightMemory&) = delete;
  WeightMemory& operator=(const WeightMemory&) = delete;
  ~WeightMemory();  // waits until the file is written

  struct Block {
    std::byte* data = nullptr;  // on a cache line; lives as long as this object
    bool is_filled = false;     // else zeroed, to be filled by the caller
  };
  // The next weight's memory. `fingerprint` tells what will be packed into it.
  Block take(std::uint64_t fingerprint, std::size_t size_bytes, base::ThreadPool& pool);

  // All weights are there: writes the file, where there is a cache that does not hold them.
  void finish();

  std::size_t bytes_from_cache() const { return bytes_from_cache_; }

 private:
  std::byte* allocate(std::size_t size_bytes);
  std::filesystem::path file_path() const;
  void write_file() const;

  std::optional<PackedCache> cache_;
  std::optional<PackedFile> file_;
  std::vector<base::PageBuffer> chunks_;
  WeightPlacement placement_;
  std::vector<PackedBlock> blocks_;
  std::size_t bytes_from_cache_ = 0;
  std::thread writer_;
};

}  // namespace vitrine::backends::cpu
