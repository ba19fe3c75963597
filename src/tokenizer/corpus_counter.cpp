#include "tokenizer/corpus_counter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <system_error>
#include <utility>

#include "base/mapped_file.h"
#include "base/utf8.h"
#include "tokenizer/pattern.h"

namespace vitrine::tokenizer {
namespace {

constexpr std::array<std::string_view, 6> kWordSplitters = {"gpt2", "llama3", "qwen2", "qwen3.5", "o200k", "tekken"};
// What one thread counts at a time: long enough to be worth handing out, short enough to stay in cache.
constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
constexpr std::size_t kMaxChunkBytes = std::size_t{1} << 30;  // positions in it have 32 bits
// What is counted between two reports of progress, and how many files are mapped for it at most.
constexpr std::size_t kBatchBytes = std::size_t{32} << 20;
constexpr std::size_t kMaxMappedFiles = 1024;

// The end of the chunk that begins at `begin`.
std::size_t chunk_end(std::string_view text, std::size_t begin, bool by_line) {
  if (!by_line) return next_certain_cut(text, begin + kChunkBytes);
  for (std::size_t pos = begin + kChunkBytes; pos < text.size(); ++pos) {
    if (text[pos - 1] == '\n') return pos;
  }
  return text.size();
}

std::string with_replacements(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const base::CodePoint code_point = base::decode_utf8(text);
    valid += code_point.valid ? text.substr(0, code_point.length) : base::kReplacementUtf8;
    text.remove_prefix(code_point.length);
  }
  return valid;
}

void count_valid(std::string_view text, ScanFunction scan, std::vector<Range>& words, WordCounts& counts) {
  words.clear();
  scan(text, words);
  for (const Range& word : words)
    counts.add(text.substr(word.begin, word.end - word.begin));
}

base::Error interrupted() {
  return {base::ErrorKind::kInterrupted, "training: interrupted"};
}

// Files on their way through the pool, mapped until the batch that they belong to is counted.
class FileCounter {
 public:
  FileCounter(const WordSplitting& splitting, base::ThreadPool& pool, TrainingObserver& observer,
              std::uint64_t total_bytes)
      : splitting_(splitting),
        pool_(pool),
        observer_(observer),
        total_bytes_(total_bytes),
        counts_(pool.num_threads()) {}

  base::Result<void> add(const std::filesystem::path& path) {
    auto file = base::MappedFile::open(path);
    if (!file) return std::move(file).error();
    const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    files_.push_back(std::move(file).value());
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = chunk_end(text, begin, splitting_.by_line);
      if (end - begin > kMaxChunkBytes) {
        return base::usage_error(fmt::format("{}: more than 1 GiB without a word's end; is it text?", path.string()));
      }
      chunks_.push_back(text.substr(begin, end - begin));
      waiting_bytes_ += end - begin;
      begin = end;
      if (waiting_bytes_ < kBatchBytes) continue;
      if (auto done = count_batch(); !done) return done;
    }
    return files_.size() < kMaxMappedFiles ? base::Result<void>() : count_batch();
  }

  base::Result<WordCounts> finish() && {
    if (auto done = count_batch(); !done) return std::move(done).error();
    WordCounts all = std::move(counts_.front());
    for (std::size_t i = 1; i < counts_.size(); ++i)
      all.add_all(counts_[i]);
    return all;
  }

 private:
  base::Result<void> count_batch() {
    if (observer_.cancelled()) return interrupted();
    pool_.for_range(chunks_.size(), 1, [this](std::size_t thread_idx, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        count_words(chunks_[i], splitting_, counts_[thread_idx]);
    });
    done_bytes_ += std::exchange(waiting_bytes_, 0);
    chunks_.clear();
    if (files_.size() > 1) files_.erase(files_.begin(), files_.end() - 1);  // the last one may have more
    observer_.counted(done_bytes_, total_bytes_);
    return {};
  }

  const WordSplitting& splitting_;
  base::ThreadPool& pool_;
  TrainingObserver& observer_;
  std::uint64_t total_bytes_;
  std::vector<WordCounts> counts_;  // one a thread
  std::vector<base::MappedFile> files_;
  std::vector<std::string_view> chunks_;
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
};

}  // namespace

std::span<const std::string_view> word_splitters() {
  return kWordSplitters;
}

void count_words(std::string_view text, const WordSplitting& splitting, WordCounts& counts) {
  std::string replaced;
  if (!base::is_valid_utf8(text)) text = replaced = with_replacements(text);
  std::vector<Range> words;
  while (!text.empty()) {
    const std::size_t line_end = splitting.by_line ? text.find('\n') : std::string_view::npos;
    const std::size_t end = line_end == std::string_view::npos ? text.size() : line_end + 1;
    count_valid(text.substr(0, end), splitting.scan, words, counts);
    text.remove_prefix(end);
  }
}

base::Result<WordCounts> count_files(std::span<const std::filesystem::path> files, const WordSplitting& splitting,
                                     base::ThreadPool& pool, TrainingObserver& observer) {
  std::uint64_t total_bytes = 0;
  for (const std::filesystem::path& path : files) {
    std::error_code unknown;
    const auto size = std::filesystem::file_size(path, unknown);
    if (!unknown) total_bytes += size;
  }
  FileCounter counter(splitting, pool, observer, total_bytes);
  for (const std::filesystem::path& path : files) {
    if (auto done = counter.add(path); !done) return std::move(done).error();
  }
  auto counts = std::move(counter).finish();
  if (counts && counts->num_words() == 0) {
    return base::bad_file(files.size() == 1 ? files.front().string() + ": the file is empty" : "the files are empty");
  }
  return counts;
}

}  // namespace vitrine::tokenizer
