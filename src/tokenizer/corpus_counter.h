#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "tokenizer/bpe_trainer.h"
#include "tokenizer/known_patterns.h"
#include "tokenizer/word_counts.h"

namespace vitrine::tokenizer {

// The splitters that cut all of a text into words, so that a vocabulary can be trained with one.
std::span<const std::string_view> word_splitters();

// How text becomes the words that are counted.
struct WordSplitting {
  ScanFunction scan = nullptr;  // one of word_splitters()
  bool by_line = false;         // a line with its end is a text of its own: no word reaches across a line end
};

// Counts the words of UTF-8 text; bytes that are not UTF-8 count as U+FFFD, one per maximal subpart.
void count_words(std::string_view text, const WordSplitting& splitting, WordCounts& counts);

// Counts the words of files, piece by piece on all threads of the pool. A file is mapped while it is read; what stays
// is one copy of every distinct word per thread. Fails as MappedFile::open does, with kBadFile where there is no text
// at all, with kUsage where a stretch of 1 GiB has no place to cut it, and with kInterrupted.
base::Result<WordCounts> count_files(std::span<const std::filesystem::path> files, const WordSplitting& splitting,
                                     base::ThreadPool& pool, TrainingObserver& observer);

}  // namespace vitrine::tokenizer
