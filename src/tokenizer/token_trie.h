#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/page_buffer.h"
#include "base/token_id.h"
#include "tokenizer/flat_map.h"

namespace vitrine::tokenizer {

// The tokens of a vocabulary by their bytes. The first two bytes of a text lead to their node at once; from there a
// node's children lie together, and those of its first child behind them, so that a chain of only children is a line or
// two of memory. Before many children lies the set of their bytes. Immutable once built; any thread.
class TokenTrie {
 public:
  static constexpr TokenId kMaxId = (TokenId{1} << 21) - 2;
  static constexpr std::size_t kMaxNodes = std::size_t{1} << 24;
  struct Entry {
    std::string_view bytes;
    TokenId id = -1;
    bool is_match = true;  // may be the longest of a text
  };
  struct Match {
    TokenId longest = -1;  // the longest token that the text begins with
    TokenId whole = -1;    // the entry that is the text, a match or not
  };

  // Texts must differ and not be empty. False if there are more nodes than fit.
  bool build(std::vector<Entry> entries);

  Match match(std::string_view text) const;
  // The longest token that is a true beginning of `id`, -1 where there is none.
  TokenId shorter(TokenId id) const { return shorter_[static_cast<std::size_t>(id)]; }

 private:
  struct Node {
    std::uint64_t label : 8 = 0;  // the byte that leads here
    std::uint64_t num_children : 9 = 0;
    std::uint64_t first_child : 24 = 0;
    std::uint64_t longest : 21 = 0;  // id + 1 of the longest token on the way from the root to here
    std::uint64_t ends_match : 1 = 0;
    std::uint64_t ends_other : 1 = 0;  // an entry that is no match: see others_
  };
  static_assert(sizeof(Node) == 8);
  // So many are looked through one by one: a line of memory.
  static constexpr std::uint32_t kFewChildren = 8;
  // A bit for each byte, and how many children stand before each 64 of them.
  static constexpr std::uint32_t kSetNodes = 256 / 64 + 1;
  struct Span {  // of sorted entries that begin with a node's text
    std::uint32_t node, begin, end, depth;
  };

  void add_set(const Node& node);
  void add_node(std::uint32_t parent, const Entry& entry, std::uint32_t depth);
  void add_children(const Span& span, const std::vector<Entry>& entries, std::vector<Span>& todo);
  std::size_t first_step(std::string_view text, std::uint32_t& node) const;
  void index_first_bytes();
  std::uint32_t child(const Node& node, unsigned char byte) const;

  base::PageVector<Node> nodes_;
  std::vector<std::uint32_t> first_nodes_;   // by the first byte; 0: none
  std::vector<std::uint32_t> second_nodes_;  // by the first two bytes
  std::vector<std::uint32_t> third_nodes_;   // by the character of three bytes that a text begins with
  std::vector<TokenId> shorter_;             // by id
  FlatMap<TokenId> others_;                  // by node
};

}  // namespace vitrine::tokenizer
