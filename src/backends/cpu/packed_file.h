#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"

// A model's packed weights on disk, so that a later start reads them instead of packing them again. Little-endian:
//   64 bytes  magic "VTPACK", format version, number of blocks, where the table lies, its checksum, SHA-256 of the key
//   blocks    each on a boundary of 4,096 bytes
//   table     per block: fingerprint, offset, size, then a checksum for each piece of 1 MiB
// The file comes into being under another name and is renamed when it is whole and on the disk; it never changes again.
namespace vitrine::backends::cpu {

struct PackedBlock {
  std::uint64_t fingerprint = 0;  // of what was packed: type, shape, place in the order
  std::span<const std::byte> bytes;
};

// A file that an earlier start wrote. Every read is checked.
class PackedFile {
 public:
  // Nothing where there is no file, or one of another key or version, or a damaged one.
  static std::optional<PackedFile> open(const std::filesystem::path& path, const std::string& key);
  PackedFile(PackedFile&& other) noexcept;
  PackedFile& operator=(PackedFile&& other) noexcept;
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;
  ~PackedFile();

  std::size_t num_blocks() const { return entries_.size(); }
  // Whether block `block_idx` is of that fingerprint and size.
  bool matches(std::size_t block_idx, std::uint64_t fingerprint, std::size_t size_bytes) const;
  // Fills `out`, which has the block's size. False where the disk fails or a checksum differs.
  bool read(std::size_t block_idx, std::span<std::byte> out, base::ThreadPool& pool) const;

 private:
  struct Entry {
    std::uint64_t fingerprint = 0;
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    std::vector<std::uint64_t> checksums;
  };

  PackedFile() = default;
  bool read_table(const std::string& key);
  bool take_entries(std::span<const std::uint64_t> table, std::size_t count, std::uint64_t end);

  int descriptor_ = -1;
  std::vector<Entry> entries_;
};

// Writes the file and puts it in place of one that may be there. Fails with kIo.
base::Result<void> write_packed_file(const std::filesystem::path& path, const std::string& key,
                                     std::span<const PackedBlock> blocks);

// Removes the files of a folder that were used least recently, until what is left takes at most `limit_bytes`; and what
// writers that died left behind. `keep` stays.
void trim_packed_files(const std::filesystem::path& folder, std::uint64_t limit_bytes,
                       const std::filesystem::path& keep);

}  // namespace vitrine::backends::cpu
