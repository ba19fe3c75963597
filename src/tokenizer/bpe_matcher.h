#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/page_buffer.h"
#include "tokenizer/known_pairs.h"
#include "tokenizer/merge_engine.h"
#include "tokenizer/pair_table.h"
#include "tokenizer/token_trie.h"
#include "tokenizer/unknown_characters.h"
#include "tokenizer/vocabulary.h"

namespace vitrine::tokenizer {

// Byte-level BPE without replaying the merges: the encoding of a text is the one row of tokens in which every two
// neighbours, encoded as a text of their own, stay as they are. Tokens are taken by longest match, a shorter one where
// it does not stand beside the one before, and taken back where none does (van Antwerpen and Neubeck, "So many tokens,
// so little time", GitHub 2024). Faster than merging the longer the piece, after some tens of milliseconds of building.
// Immutable; any thread.
class BpeMatcher {
 public:
  static constexpr std::size_t kMaxPieceBytes = 4096;

  // What a matcher is made of. With take_whole a piece of the vocabulary is taken without a look at the merges.
  struct Source {
    const Vocabulary& vocabulary;
    const MergeTable& merges;
    const ByteIds& byte_ids;  // the first symbols, -1 for a byte that is none
    bool take_whole = false;
  };
  // nullptr where a token is made in a way that this class does not see, and for vocabularies of some millions.
  static std::unique_ptr<BpeMatcher> build(const Source& source);

  // Appends the tokens of `piece`, of at most kMaxPieceBytes. False, and nothing appended, for a piece with a byte that
  // is no token. `scratch` is working space.
  bool encode(std::string_view piece, std::vector<Symbol>& scratch, std::vector<Symbol>& out) const {
    return encode(piece, take_whole_, scratch, out);
  }
  // The same for a part of a piece, which is never taken whole.
  bool encode_part(std::string_view part, std::vector<Symbol>& scratch, std::vector<Symbol>& out) const {
    return encode(part, false, scratch, out);
  }

 private:
  static constexpr std::uint32_t kNever = PairTable::kNever;
  // How a token comes to be: by the merge of `left` and `right`, whose time is its rank + 1, as soon as both are there,
  // which is after all merges of times before `made`. A byte is there from time 0.
  struct Token {
    TokenId left = -1;
    TokenId right = -1;
    std::uint32_t time = 0;
    std::uint32_t made : 31 = kNever;
    std::uint32_t left_came_last : 1 = 0;  // of the two parts

    // Undone at the left, or the right, side of a border: from this time on a pair across it would not have merged.
    std::uint32_t harmless_from_left() const { return left_came_last != 0 ? made : time; }
    std::uint32_t harmless_from_right() const { return (left_came_last != 0 ? time : made) + 1; }
  };
  static_assert(sizeof(Token) == 16);

  BpeMatcher(const Source& source, std::size_t num_pairs);

  void find_last_merges(const Vocabulary& vocabulary, std::span<const MergeTable::Pair> pairs);
  void prefetch(const MergeTable::Pair& pair) const {
    for (const TokenId id : {pair.left, pair.right, pair.merge.merged})
      __builtin_prefetch(&token(id));
    pairs_.prefetch(pair.left, pair.right);
  }
  void set_merge(const MergeTable::Pair& pair);
  bool knows_all_that_merges_make(const Source& source, std::span<const MergeTable::Pair> pairs) const;
  bool fill_trie(const Source& source);
  const Token& token(TokenId id) const { return tokens_[static_cast<std::size_t>(id)]; }
  bool is_made(TokenId id) const { return token(id).made != kNever; }
  std::uint32_t undo(TokenId& left, TokenId& right) const;
  bool come_to_stand(TokenId left, TokenId right) const;
  bool stay_apart(TokenId left, TokenId right) const;
  bool find_apart(TokenId left, TokenId right) const;
  bool encode(std::string_view piece, bool take_whole, std::vector<Symbol>& scratch, std::vector<Symbol>& out) const;
  bool take_longest(std::string_view piece, std::vector<Symbol>& tokens) const;
  void take_back(std::string_view piece, std::span<const Symbol> longest, std::vector<Symbol>& out) const;

  bool take_whole_;
  base::PageVector<Token> tokens_;  // by id
  PairTable pairs_;                 // each token's last merge
  TokenTrie trie_;
  mutable KnownPairs known_pairs_;  // what find_apart said
};

}  // namespace vitrine::tokenizer
