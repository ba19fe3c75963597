#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/merge_engine.h"
#include "tokenizer/vocabulary.h"

namespace vitrine::tokenizer {

// A merge given by name ("left", "right").
struct NamedMerge {
  std::string_view left, right;
};

// Puts the merges of a file, in the order of their ranks, into a table. Each takes three lookups in the vocabulary and
// one in the table, at places that are in no cache, so that they are resolved some at a time, the places fetched ahead.
// One thread.
class MergeReader {
 public:
  // The vocabulary and the table must outlive it. `list` names the merges in messages; what a merge makes drops the
  // first `prefix_bytes` of its right side.
  MergeReader(std::string_view list, const Vocabulary& vocabulary, MergeTable& table, std::size_t prefix_bytes = 0);

  // What it refers to must stay until finish(). An error names a merge given before, or this one: a piece that is
  // missing.
  base::Result<void> add(NamedMerge merge);
  // After the last one.
  base::Result<void> finish();

  std::uint32_t num_added() const { return num_added_; }

 private:
  static constexpr std::size_t kBatch = 32;
  struct Waiting {
    NamedMerge merge;
    std::string text;  // of what it makes
    TokenId left = -1, right = -1, merged = -1;
  };

  std::optional<std::string> look_up(Waiting& waiting) const;

  std::string list_;
  const Vocabulary& vocabulary_;
  MergeTable& table_;
  std::size_t prefix_bytes_;
  std::vector<Waiting> batch_;
  std::size_t num_waiting_ = 0;
  std::uint32_t num_added_ = 0;
};

}  // namespace vitrine::tokenizer
