#include "backends/cpu/packed_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/sha256.h"

namespace vitrine::backends::cpu {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kFormatVersion = 1;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
constexpr std::size_t kPageBytes = 4096;
constexpr const char* kSuffix = ".packed";
constexpr const char* kUnfinished = ".unfinished";

struct Header {
  std::array<char, 8> magic = {'V', 'T', 'P', 'A', 'C', 'K', '\n', '\0'};
  std::uint32_t version = kFormatVersion;
  std::uint32_t num_blocks = 0;
  std::uint64_t table_offset = 0;
  std::uint64_t table_checksum = 0;
  base::Sha256Digest key{};
};
static_assert(sizeof(Header) == 64);

std::uint64_t round_up(std::uint64_t size, std::uint64_t step) {
  return (size + step - 1) / step * step;
}

std::size_t num_pieces(std::uint64_t size_bytes) {
  return static_cast<std::size_t>(round_up(size_bytes, kPieceBytes) / kPieceBytes);
}

// Four chains of multiplications side by side: faster than memory is read. It finds damage, not forgery.
std::uint64_t checksum(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
  std::array<std::uint64_t, 4> chains = {1, 2, 3, bytes.size()};
  std::size_t at = 0;
  for (; at + sizeof(chains) <= bytes.size(); at += sizeof(chains)) {
    std::array<std::uint64_t, 4> words{};
    std::memcpy(words.data(), bytes.data() + at, sizeof(words));
    for (std::size_t lane = 0; lane < chains.size(); ++lane)
      chains[lane] = (chains[lane] ^ words[lane]) * kFactor;
  }
  for (; at < bytes.size(); ++at)
    chains[0] = (chains[0] ^ std::to_integer<std::uint64_t>(bytes[at])) * kFactor;
  std::uint64_t sum = 0;
  for (const std::uint64_t chain : chains)
    sum = (sum ^ (chain ^ (chain >> 32U))) * kFactor;
  return sum ^ (sum >> 32U);
}

base::Sha256Digest digest_of(const std::string& key) {
  base::Sha256 hash;
  hash.update(std::as_bytes(std::span(key)));
  return hash.finish();
}

bool read_at(int descriptor, std::uint64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

bool write_at(int descriptor, std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    offset += static_cast<std::uint64_t>(put);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// The lock says that the writer lives.
bool write_whole_file(int descriptor, const std::string& key, std::span<const PackedBlock> blocks) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return false;
  std::vector<std::uint64_t> table;
  std::uint64_t offset = kPageBytes;
  for (const PackedBlock& block : blocks) {
    table.insert(table.end(), {block.fingerprint, offset, block.bytes.size()});
    for (std::size_t at = 0; at < block.bytes.size(); at += kPieceBytes)
      table.push_back(checksum(block.bytes.subspan(at, std::min(kPieceBytes, block.bytes.size() - at))));
    if (!write_at(descriptor, offset, block.bytes)) return false;
    offset = round_up(offset + block.bytes.size(), kPageBytes);
  }
  Header header;
  header.num_blocks = static_cast<std::uint32_t>(blocks.size());
  header.table_offset = offset;
  header.table_checksum = checksum(std::as_bytes(std::span(table)));
  header.key = digest_of(key);
  return write_at(descriptor, offset, std::as_bytes(std::span(table))) && write_at(descriptor, 0, bytes_of(header)) &&
         ::fdatasync(descriptor) == 0;
}

bool has_ending(const fs::path& path, const char* ending) {
  return path.filename().string().ends_with(ending);
}

// A file of a writer that died: no one holds its lock.
void remove_if_abandoned(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  ::close(descriptor);
}

}  // namespace

std::optional<PackedFile> PackedFile::open(const fs::path& path, const std::string& key) {
  PackedFile file;
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file.descriptor_ < 0 || !file.read_table(key)) return std::nullopt;
  ::futimens(file.descriptor_, nullptr);  // it was used now; fails on another user's file, which does no harm
  return file;
}

PackedFile::PackedFile(PackedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), entries_(std::move(other.entries_)) {}

PackedFile& PackedFile::operator=(PackedFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(entries_, other.entries_);
  return *this;
}

PackedFile::~PackedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool PackedFile::read_table(const std::string& key) {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  const Header expected;
  Header header;
  if (!read_at(descriptor_, 0, bytes_of(header)) || header.magic != expected.magic ||
      header.version != expected.version || header.key != digest_of(key) || header.table_offset > file_bytes) {
    return false;
  }
  // Three words for each block and one for each piece, of which each block has at most one that is not full.
  const std::uint64_t most_words = 4 * std::uint64_t{header.num_blocks} + file_bytes / kPieceBytes;
  const std::uint64_t num_words = (file_bytes - header.table_offset) / sizeof(std::uint64_t);
  if (num_words > most_words) return false;
  std::vector<std::uint64_t> table(static_cast<std::size_t>(num_words));
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(table));
  return read_at(descriptor_, header.table_offset, bytes) && checksum(bytes) == header.table_checksum &&
         take_entries(table, header.num_blocks, header.table_offset);
}

bool PackedFile::take_entries(std::span<const std::uint64_t> table, std::size_t count, std::uint64_t end) {
  constexpr std::size_t kFixedWords = 3;
  for (std::size_t i = 0; i < count; ++i) {
    if (table.size() < kFixedWords) return false;
    Entry entry{table[0], table[1], table[2], {}};
    if (entry.offset > end || entry.size_bytes > end - entry.offset) return false;
    table = table.subspan(kFixedWords);
    const std::size_t pieces = num_pieces(entry.size_bytes);
    if (table.size() < pieces) return false;
    entry.checksums.assign(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(pieces));
    table = table.subspan(pieces);
    entries_.push_back(std::move(entry));
  }
  return table.empty();
}

bool PackedFile::matches(std::size_t block_idx, std::uint64_t fingerprint, std::size_t size_bytes) const {
  return block_idx < entries_.size() && entries_[block_idx].fingerprint == fingerprint &&
         entries_[block_idx].size_bytes == size_bytes;
}

bool PackedFile::read(std::size_t block_idx, std::span<std::byte> out, base::ThreadPool& pool) const {
  const Entry& entry = entries_[block_idx];
  std::atomic<bool> good{true};
  pool.for_range(entry.checksums.size(), 1, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t piece = begin; piece < end; ++piece) {
      const std::size_t at = piece * kPieceBytes;
      const std::span<std::byte> part = out.subspan(at, std::min(kPieceBytes, out.size() - at));
      const bool same = read_at(descriptor_, entry.offset + at, part) && checksum(part) == entry.checksums[piece];
      if (!same) good.store(false, std::memory_order_relaxed);
    }
  });
  return good.load();
}

base::Result<void> write_packed_file(const fs::path& path, const std::string& key,
                                     std::span<const PackedBlock> blocks) {
  const fs::path unfinished = path.string() + "." + std::to_string(::getpid()) + kUnfinished;
  const auto failed = [&](int code) {
    return base::Error{base::ErrorKind::kIo, path.string() + ": " + std::strerror(code)};
  };
  const int descriptor = ::open(unfinished.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return failed(errno);
  const bool done = write_whole_file(descriptor, key, blocks) && ::rename(unfinished.c_str(), path.c_str()) == 0;
  const int code = errno;
  if (!done) ::unlink(unfinished.c_str());
  ::close(descriptor);
  if (!done) return failed(code);
  return {};
}

void trim_packed_files(const fs::path& folder, std::uint64_t limit_bytes, const fs::path& keep) {
  struct Found {
    fs::file_time_type used;
    std::uint64_t size_bytes;
    fs::path path;
  };
  std::vector<Found> files;
  std::uint64_t total = 0;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    if (has_ending(entry.path(), kUnfinished)) remove_if_abandoned(entry.path());
    std::error_code gone;
    if (!has_ending(entry.path(), kSuffix) || !entry.is_regular_file(gone)) continue;
    const Found file{entry.last_write_time(gone), entry.file_size(gone), entry.path()};
    if (gone) continue;
    total += file.size_bytes;
    if (entry.path() != keep) files.push_back(file);
  }
  std::ranges::sort(files, {}, &Found::used);
  for (const Found& file : files) {
    if (total <= limit_bytes) return;
    if (fs::remove(file.path, failed)) total -= file.size_bytes;
  }
}

}  // namespace vitrine::backends::cpu
