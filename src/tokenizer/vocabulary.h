#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/page_buffer.h"
#include "base/result.h"
#include "base/token_id.h"
#include "tokenizer/flat_map.h"
#include "tokenizer/word_hash.h"

namespace vitrine::tokenizer {

// The pieces of a vocabulary by id, as the file spells them, and the way back from a spelling to its id. Ids may have
// holes: a hole is an empty piece that no spelling leads to. Built once, then read from any thread.
class Vocabulary {
 public:
  // More ids than any known model has; a larger one in a file is a lie or a mistake.
  static constexpr TokenId kMaxId = (TokenId{1} << 24) - 1;

  void reserve(std::size_t num_pieces, std::size_t num_bytes);

  // Puts `piece` at `id`. Refuses an id out of range, an id given twice, and a text given twice.
  base::Result<void> add(TokenId id, std::string_view piece);

  // The same for a piece that find must not lead to: a token that the model cannot produce from text.
  base::Result<void> add_unlisted(TokenId id, std::string_view piece);

  std::size_t size() const { return entries_.size(); }
  bool contains(TokenId id) const { return id >= 0 && static_cast<std::size_t>(id) < size() && entry(id).used; }
  // Empty for an id outside the vocabulary.
  std::string_view piece(TokenId id) const {
    return contains(id) ? std::string_view(bytes_.data() + entry(id).begin, entry(id).length) : std::string_view();
  }
  std::optional<TokenId> find(std::string_view piece) const {
    if (piece.size() > kMaxShort) return find_long(piece);
    const TokenId* id = short_ids_.find(short_key(piece));
    return id == nullptr ? std::nullopt : std::optional(*id);
  }
  // Begins to load what find() will look at.
  void prefetch(std::string_view piece) const {
    if (piece.size() <= kMaxShort) return short_ids_.prefetch(short_key(piece));
    __builtin_prefetch(&slots_[first_slot_of(hash_word(piece))]);
  }
  // The same for what lies behind what prefetch() loaded.
  void prefetch_further(std::string_view piece) const {
    if (piece.size() <= kMaxShort) return;
    __builtin_prefetch(bytes_.data() + slots_[first_slot_of(hash_word(piece))].begin);
  }
  std::size_t max_piece_bytes() const { return max_piece_bytes_; }
  // All pieces, one behind the other as they were added; piece() is a view of a part of it.
  std::string_view bytes() const { return bytes_; }
  // Whether find() leads to the id.
  bool is_listed(TokenId id) const { return contains(id) && entry(id).listed; }

 private:
  struct Entry {
    std::uint32_t begin = 0;
    std::uint32_t length : 30 = 0;
    std::uint32_t used : 1 = 0;
    std::uint32_t listed : 1 = 0;
  };
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = -1;
    std::uint32_t begin = 0, length = 0;  // of the piece, as its entry has them
  };

  // Most lookups are of short pieces: those lie in a table whose keys are the pieces themselves.
  static constexpr std::size_t kMaxShort = 7;

  // The bytes of a piece of at most kMaxShort bytes and, above them, how many they are.
  static std::uint64_t short_key(std::string_view piece) {
    return std::uint64_t{piece.size()} << 56 | packed_bytes(piece);
  }

  std::optional<TokenId> find_long(std::string_view piece) const;
  const Entry& entry(TokenId id) const { return entries_[static_cast<std::size_t>(id)]; }
  base::Result<void> store(TokenId id, std::string_view piece);
  std::size_t first_slot_of(std::uint64_t hash) const { return static_cast<std::size_t>(hash >> slot_shift_); }
  std::size_t slot_of(std::string_view piece, std::uint64_t hash) const;
  void resize_slots(std::size_t num_slots);

  std::string bytes_;
  std::vector<Entry> entries_;
  FlatMap<TokenId> short_ids_;
  base::PageVector<Slot> slots_ = base::PageVector<Slot>(16);  // of the pieces that are longer
  unsigned slot_shift_ = 60;
  std::size_t num_long_ = 0;
  std::size_t max_piece_bytes_ = 0;
};

}  // namespace vitrine::tokenizer
