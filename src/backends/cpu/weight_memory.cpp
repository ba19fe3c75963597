#include "backends/cpu/weight_memory.h"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "backends/cpu/packed_layout.h"
#include "base/sha256.h"

namespace vitrine::backends::cpu {
namespace {

constexpr std::size_t kMemoryChunkBytes = std::size_t{64} << 20U;
constexpr std::size_t kCacheLineBytes = 64;
// A smaller model is packed sooner than a file of it is kept in order.
constexpr std::size_t kLeastCachedBytes = std::size_t{16} << 20U;
// Of the disk's free space, for one file.
constexpr std::uint64_t kLargestShare = 4;

std::size_t total_bytes(std::span<const PackedBlock> blocks) {
  std::size_t total = 0;
  for (const PackedBlock& block : blocks)
    total += block.bytes.size();
  return total;
}

}  // namespace

WeightMemory::WeightMemory(std::optional<PackedCache> cache) : cache_(std::move(cache)) {
  if (!cache_) return;
  cache_->key += "\nlayout " + std::to_string(kPackedLayoutVersion);
  file_ = PackedFile::open(file_path(), cache_->key);
}

WeightMemory::~WeightMemory() {
  if (writer_.joinable()) writer_.join();
}

std::filesystem::path WeightMemory::file_path() const {
  base::Sha256 hash;
  hash.update(std::as_bytes(std::span(cache_->key)));
  return cache_->folder / (base::hex_of(hash.finish()) + ".packed");
}

std::byte* WeightMemory::allocate(std::size_t size_bytes) {
  const std::size_t padded = (size_bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  if (chunks_.empty() || padded > chunks_.back().size_bytes() - chunk_used_) {
    chunks_.emplace_back(std::max(padded, kMemoryChunkBytes));
    chunk_used_ = 0;
  }
  std::byte* const data = chunks_.back().data() + chunk_used_;
  chunk_used_ += padded;
  return data;
}

WeightMemory::Block WeightMemory::take(std::uint64_t fingerprint, std::size_t size_bytes, base::ThreadPool& pool) {
  Block block{allocate(size_bytes), false};
  const std::span<std::byte> bytes(block.data, size_bytes);
  if (file_ && file_->matches(blocks_.size(), fingerprint, size_bytes)) {
    block.is_filled = file_->read(blocks_.size(), bytes, pool);
    if (!block.is_filled) std::ranges::fill(bytes, std::byte{0});
  }
  if (block.is_filled) bytes_from_cache_ += size_bytes;
  blocks_.push_back({fingerprint, bytes});
  return block;
}

void WeightMemory::finish() {
  const std::size_t total = total_bytes(blocks_);
  const bool is_stored = file_ && file_->num_blocks() == blocks_.size() && bytes_from_cache_ == total;
  file_.reset();
  if (cache_ && !is_stored && total >= kLeastCachedBytes && total <= cache_->limit_bytes) {
    writer_ = std::thread([this] { write_file(); });
  }
}

void WeightMemory::write_file() const {
  std::error_code failed;
  std::filesystem::create_directories(cache_->folder, failed);
  const std::filesystem::space_info space = std::filesystem::space(cache_->folder, failed);
  if (failed || total_bytes(blocks_) > space.available / kLargestShare) return;
  // Without the file the next start packs again, so a failure is not worth a word.
  if (write_packed_file(file_path(), cache_->key, blocks_)) {
    trim_packed_files(cache_->folder, cache_->limit_bytes, file_path());
  }
}

}  // namespace vitrine::backends::cpu
