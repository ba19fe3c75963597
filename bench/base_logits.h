#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/token_id.h"

namespace vitrine::bench {

// What llama-perplexity writes with --kl-divergence-base: the tokens of a text in chunks that have nothing to do with
// each other, and the log-probabilities of what may follow each token of the second half of a chunk but its last,
// rounded to 16 bits over at most 16 nats. Source: tools/perplexity/perplexity.cpp of llama.cpp.
class BaseLogits {
 public:
  // Of one token: log p(id) = scale * codes[id] + smallest.
  struct Row {
    float scale;
    float smallest;
    std::span<const std::uint16_t> codes;  // [vocab_size]

    double log_probability(std::size_t id) const {
      return static_cast<double>(scale * static_cast<float>(codes[id]) + smallest);
    }
  };

  // Throws base::Exception (kBadFile) for a file of another kind or a size that its header does not give.
  explicit BaseLogits(const std::string& path);

  std::size_t chunk_tokens() const { return chunk_tokens_; }
  std::size_t num_chunks() const { return num_chunks_; }
  std::size_t vocab_size() const { return vocab_size_; }
  // Tokens of a chunk whose successors are scored: those from first_scored() on, the last one apart.
  std::size_t first_scored() const { return chunk_tokens_ / 2; }
  std::size_t num_scored() const { return chunk_tokens_ - 1 - first_scored(); }

  std::vector<TokenId> chunk(std::size_t chunk_idx) const;
  Row row(std::size_t chunk_idx, std::size_t scored_idx) const;

 private:
  std::size_t row_codes() const;

  base::MappedFile file_;
  std::size_t chunk_tokens_ = 0;
  std::size_t vocab_size_ = 0;
  std::size_t num_chunks_ = 0;
};

}  // namespace vitrine::bench
