#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"
#include "tokenizer/flat_map.h"
#include "tokenizer/pattern.h"

namespace vitrine::tokenizer {

// A token that is found in the text as it stands, before the model sees the text.
struct AddedToken {
  TokenId id = -1;
  std::string content;
  bool special = false;      // not looked for when special tokens are to stay text; may be skipped in decoding
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space on its left along
  bool rstrip = false;
  bool normalized = false;  // looked for after normalization
};

// A stretch of text, and the added token it is; -1 for text.
struct TextOrToken {
  Range range;
  TokenId id = -1;
};

// Finds added tokens: from left to right, the longest at each position.
class AddedTokenMatcher {
 public:
  // A longer one would make looking for it at every position slow.
  static constexpr std::size_t kMaxContentBytes = 512;

  base::Result<void> add(const AddedToken& token, std::string_view content);
  bool empty() const { return tokens_.empty(); }

  // Cuts valid UTF-8 `text` into added tokens and what lies between them, in order, none empty.
  std::vector<TextOrToken> split(std::string_view text, bool parse_special) const;

 private:
  struct Match {
    std::size_t token_index = 0;
    std::size_t end = 0;
  };

  Match longest_at(std::string_view text, std::size_t pos) const;
  std::size_t next_start(std::string_view text, std::size_t pos) const;
  static std::uint64_t edge(std::uint32_t node, char byte) {
    return (std::uint64_t{node} << 8) | static_cast<unsigned char>(byte);
  }

  std::vector<AddedToken> tokens_;
  // A trie: edges from (node, byte) to nodes, and for each node the index of the token that ends there, plus one.
  FlatMap<std::uint32_t> edges_;
  std::vector<std::uint32_t> token_at_node_ = {0};
  std::array<bool, 256> can_start_{};
  std::string starts_;  // the bytes that can start a token
  bool all_special_ = true;
};

}  // namespace vitrine::tokenizer
