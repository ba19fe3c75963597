#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "tokenizer/id_cache.h"
#include "tokenizer/model.h"
#include "tokenizer/pattern.h"

namespace vitrine::tokenizer {

// Texts to ids where scanners cut them into words that the model encodes one by one: the way of byte-level
// vocabularies when nobody asks for offsets. Belongs to one call of encode; one thread.
class WordEncoder {
 public:
  // The model and the caches must outlive it. text_bytes: of all texts to come, about. One step at least.
  WordEncoder(const Model& model, std::vector<ScanStep> steps, IdCachePool& caches, std::size_t text_bytes)
      : model_(model),
        steps_(std::move(steps)),
        caches_(caches),
        cache_(caches.take(text_bytes)),
        borders_(model.borders(0, 0)),
        bytes_to_come_(text_bytes) {}
  ~WordEncoder() { caches_.give_back(std::move(cache_)); }
  WordEncoder(const WordEncoder&) = delete;
  WordEncoder& operator=(const WordEncoder&) = delete;

  // Appends the ids of valid UTF-8.
  base::Result<void> append(std::string_view text, std::vector<TokenId>& ids);

 private:
  class ReadableText;
  // How the model encodes: a word, or a part of one.
  using Encode = base::Result<void> (Model::*)(std::string_view, std::vector<Symbol>&, std::vector<Symbol>&) const;
  // Words whose places in the cache are fetched before the first of them is looked up.
  static constexpr std::size_t kBatch = 32;
  // A word's key in the table for its size, and its place there.
  struct Probe {
    IdCache::ShortWords::Key short_key;
    IdCache::LongWords::Key long_key;
    std::size_t place;
  };

  void find_words(std::string_view text);
  void cut_words(std::string_view text, ScanFunction scan);
  base::Result<void> append_block(std::string_view text, std::vector<TokenId>& ids);
  void expect_new_words(std::size_t block_bytes);
  void look_for_borders(std::size_t block_bytes);
  void prepare(Range word, const ReadableText& text, Probe& probe) const;
  base::Result<void> append_word(Range word, const ReadableText& text, const Probe& probe, TokenId*& out);
  template <typename Table, typename AppendUnknown>
  base::Result<void> append_kept(Table& table, const typename Table::Key& key, std::size_t place, TokenId*& out,
                                 AppendUnknown append_unknown);
  base::Result<void> append_new(Range word, const ReadableText& text, TokenId*& out);
  base::Result<void> append_encoded(Encode encode, std::string_view text, TokenId*& out);
  base::Result<void> append_divided(Range word, const ReadableText& text, TokenId*& out);
  base::Result<void> append_part(std::string_view part, char32_t first, const char* readable, TokenId*& out);

  const Model& model_;
  std::vector<ScanStep> steps_;
  IdCachePool& caches_;
  std::unique_ptr<IdCache> cache_;
  std::vector<Range> words_, pieces_, matches_;
  std::vector<Symbol> symbols_, scratch_;
  SureBorders* borders_;             // nullptr as long as the model has none
  std::size_t divisible_bytes_ = 0;  // of the block, in words that may have sure borders
  std::size_t bytes_to_come_;        // behind the blocks so far
  std::size_t new_bytes_ = 0;        // of the block, in words that the model encoded
  double new_share_ = 1;             // of the last blocks, about
};

}  // namespace vitrine::tokenizer
