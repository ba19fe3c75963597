#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/page_buffer.h"
#include "base/token_id.h"

namespace vitrine::tokenizer {

// The tokens of a vocabulary by their bytes. The first two bytes of a text, or a character of three, lead to their node
// at once; from there a node's children lie together, and those of its first child behind them, so that a chain of only
// children is a line or two of memory. Before many children lies the set of their bytes. Immutable once built; any
// thread.
class TokenTrie {
 public:
  static constexpr TokenId kMaxId = (TokenId{1} << 21) - 2;
  static constexpr std::size_t kMaxNodes = std::size_t{1} << 24;
  // What must follow the bytes of the last entry.
  static constexpr std::size_t kPadding = 8;
  struct Entry {
    std::uint32_t begin = 0, size = 0;  // of its bytes
    TokenId id = -1;
  };
  struct Match {
    TokenId id = -1;
    std::uint32_t length = 0;
  };

  // Texts must differ and not be empty; `bytes` holds those of all entries, and kPadding behind them. False if there
  // are more nodes than fit.
  bool build(std::string_view bytes, const std::vector<Entry>& entries);

  // The longest token that the text begins with; id -1 where there is none.
  Match longest(std::string_view text) const;
  // The longest token that is a true beginning of `id`.
  Match shorter(TokenId id) const {
    const TokenId shorter = links_[static_cast<std::size_t>(id)].shorter;
    return {shorter, shorter < 0 ? 0 : links_[static_cast<std::size_t>(shorter)].length};
  }

 private:
  struct Node {
    std::uint64_t label : 8 = 0;  // the byte that leads here
    std::uint64_t num_children : 9 = 0;
    std::uint64_t first_child : 24 = 0;
    std::uint64_t longest : 21 = 0;  // id + 1 of the longest token on the way from the root to here
    std::uint64_t ends_token : 1 = 0;

    bool exists() const { return longest != 0 || num_children != 0; }
  };
  static_assert(sizeof(Node) == 8);
  struct Link {
    TokenId shorter = -1;
    std::uint32_t length = 0;
  };
  // So many are looked through one by one: a line of memory.
  static constexpr std::uint32_t kFewChildren = 8;
  // A bit for each byte, and how many children stand before each 64 of them.
  static constexpr std::uint32_t kSetNodes = 256 / 64 + 1;
  // Of sorted texts: those that begin with a node's text.
  struct Span {
    std::uint32_t node, begin, end, depth;
  };
  struct Text {
    std::string_view bytes;
    TokenId id = -1;
  };

  static std::vector<Text> sorted(std::string_view bytes, const std::vector<Entry>& entries);
  void add_set(const Node& node);
  void add_node(const Node& parent, const Text& text, std::uint32_t depth);
  void add_chain(std::uint32_t node, const Text& text, std::uint32_t depth);
  void add_children(const Span& span, const std::vector<Text>& texts, std::vector<Span>& todo);
  std::uint32_t first_step(std::string_view text, Node& node) const;
  void index_first_bytes();
  template <typename Visit>
  void for_each_child(const Node& node, Visit visit) const;
  std::uint32_t child(const Node& node, unsigned char byte) const;

  base::PageVector<Node> nodes_;
  std::vector<Node> first_nodes_;   // by the first byte
  std::vector<Node> second_nodes_;  // by the first two bytes
  std::vector<Node> third_nodes_;   // by the character of three bytes that a text begins with
  std::vector<Link> links_;         // by id
};

}  // namespace vitrine::tokenizer
