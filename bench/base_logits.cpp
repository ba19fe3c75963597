#include "bench/base_logits.h"

#include <cstring>

#include "base/result.h"

namespace vitrine::bench {
namespace {

constexpr std::string_view kMagic = "_logits_";
constexpr std::size_t kHeaderBytes = 20;  // magic, tokens of a chunk, vocabulary, chunks
constexpr std::size_t kScaleCodes = 4;    // scale and smallest lie before the codes of a row
// No file is larger, and no product of such sizes overflows.
constexpr std::size_t kMostChunkTokens = std::size_t{1} << 20U;
constexpr std::size_t kMostVocabulary = std::size_t{1} << 22U;
constexpr std::size_t kMostChunks = std::size_t{1} << 18U;

template <typename T>
T read_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

}  // namespace

BaseLogits::BaseLogits(const std::string& path) : file_(base::MappedFile::open(path).value_or_throw()) {
  const std::span<const std::byte> bytes = file_.bytes();
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    throw base::Exception(base::ErrorKind::kBadFile, path + ": not a file of llama-perplexity --kl-divergence-base");
  chunk_tokens_ = read_at<std::uint32_t>(bytes, 8);
  vocab_size_ = read_at<std::uint32_t>(bytes, 12);
  num_chunks_ = read_at<std::uint32_t>(bytes, 16);
  const std::size_t row_bytes = row_codes() * sizeof(std::uint16_t);
  if (chunk_tokens_ < 4 || chunk_tokens_ > kMostChunkTokens || vocab_size_ > kMostVocabulary ||
      num_chunks_ > kMostChunks ||
      bytes.size() != kHeaderBytes + num_chunks_ * (chunk_tokens_ * sizeof(std::int32_t) + num_scored() * row_bytes))
    throw base::Exception(base::ErrorKind::kBadFile, path + ": not of the size that its header gives; make it again");
}

std::size_t BaseLogits::row_codes() const {
  return kScaleCodes + 2 * ((vocab_size_ + 1) / 2);
}

std::vector<TokenId> BaseLogits::chunk(std::size_t chunk_idx) const {
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < chunk_tokens_; ++i)
    ids.push_back(read_at<std::int32_t>(file_.bytes(), kHeaderBytes + 4 * (chunk_idx * chunk_tokens_ + i)));
  return ids;
}

BaseLogits::Row BaseLogits::row(std::size_t chunk_idx, std::size_t scored_idx) const {
  const std::size_t rows_at = kHeaderBytes + 4 * num_chunks_ * chunk_tokens_;
  const std::size_t at = rows_at + 2 * row_codes() * (chunk_idx * num_scored() + scored_idx);
  const auto bytes = file_.bytes();
  const auto* codes = reinterpret_cast<const std::uint16_t*>(bytes.data() + at) + kScaleCodes;
  return {read_at<float>(bytes, at), read_at<float>(bytes, at + 4), {codes, vocab_size_}};
}

}  // namespace vitrine::bench
