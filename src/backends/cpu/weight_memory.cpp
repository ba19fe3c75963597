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

std::size_t round_up(std::size_t size_bytes, std::size_t step) {
  return (size_bytes + step - 1) / step * step;
}

std::size_t total_bytes(std::span<const PackedBlock> blocks) {
  std::size_t total = 0;
  for (const PackedBlock& block : blocks)
    total += block.bytes.size();
  return total;
}

}  // namespace

WeightPlacement::Place WeightPlacement::add(std::size_t size_bytes) {
  const std::size_t padded = round_up(size_bytes, kCacheLineBytes);
  if (num_chunks_ == 0 || padded > chunk_bytes_ - used_bytes_) {
    finished_bytes_ = resident_bytes();
    chunk_bytes_ = std::max(padded, kMemoryChunkBytes);
    used_bytes_ = 0;
    ++num_chunks_;
  }
  const std::size_t offset = used_bytes_;
  used_bytes_ += padded;
  return {num_chunks_ - 1, offset};
}

std::size_t WeightPlacement::resident_bytes() const {
  return finished_bytes_ + round_up(used_bytes_, base::PageBuffer::kHugePageBytes);
}

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
  const WeightPlacement::Place place = placement_.add(size_bytes);
  if (place.chunk_idx == chunks_.size()) chunks_.emplace_back(placement_.chunk_bytes());
  return chunks_[place.chunk_idx].data() + place.offset_bytes;
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
