#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "tokenizer/word_counts.h"

namespace vitrine::tokenizer {

// What a byte-level BPE vocabulary is to become.
struct BpeTraining {
  std::size_t vocab_size = 0;       // special tokens and the 256 bytes included
  std::uint64_t min_frequency = 2;  // a pair that occurs less often is not merged
  std::vector<std::string> special_tokens = {};
  std::optional<std::size_t> num_merges =
      std::nullopt;  // in place of vocab_size: so many, whatever the vocabulary starts from
  // Starts from the characters of the text instead of the bytes. To look at: no byte-level tokenizer comes of it.
  bool from_characters = false;
};

// One merge of a training, as it is made.
struct MergeStep {
  std::string left, right, merged;  // the bytes
  std::uint64_t count = 0;          // how often the pair occurs
  std::uint64_t num_bytes = 0;      // of the text
  std::uint64_t num_tokens = 0;     // that the text takes behind the merge
};

// Told how far a training is, and asked whether to go on; called by the thread that trains.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  virtual void counted(std::uint64_t /*bytes*/, std::uint64_t /*total_bytes*/) {}
  virtual void merged(std::size_t /*merges*/, std::size_t /*most_merges*/, double /*bytes_per_token*/) {}
  virtual void merge_made(const MergeStep& /*step*/) {}
  virtual bool cancelled() const { return false; }
};

struct TrainedMerge {
  TokenId left = -1;
  TokenId right = -1;
  friend bool operator==(const TrainedMerge&, const TrainedMerge&) = default;
};

// A trained vocabulary: special tokens, then the bytes (or characters) in the order of their spelling, then what the
// merges make.
struct TrainedBpe {
  std::vector<std::string> pieces;   // by id, in the byte alphabet; special tokens as they are
  std::vector<TokenId> special_ids;  // one for each distinct special token
  std::vector<TrainedMerge> merges;  // by rank
  std::uint64_t num_bytes = 0;       // of the text
  std::uint64_t num_tokens = 0;      // that the text now takes

  double bytes_per_token() const {
    return num_tokens == 0 ? 0 : static_cast<double>(num_bytes) / static_cast<double>(num_tokens);
  }
};

// Learns merges from the words of a text (Sennrich et al., arXiv 1508.07909): again and again the most frequent pair of
// neighbours becomes a token; of equally frequent pairs the one with the smaller left id, then the smaller right id.
// The merges are those of the BpeTrainer in Hugging Face's tokenizers for the same words. They depend on nothing but
// the words and their counts. Fails with kUsage where the vocabulary has no room for the bytes, with kInterrupted
// where the observer cancels.
base::Result<TrainedBpe> train_bpe(const WordCounts& words, const BpeTraining& training, TrainingObserver& observer);

}  // namespace vitrine::tokenizer
