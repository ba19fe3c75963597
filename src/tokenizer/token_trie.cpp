#include "tokenizer/token_trie.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/word_hash.h"

namespace vitrine::tokenizer {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// The first eight bytes as a number of the same order, zeros behind a shorter text; eight bytes may be read.
std::uint64_t leading_bytes(std::string_view text) {
  static_assert(std::endian::native == std::endian::little);
  const std::uint64_t number = __builtin_bswap64(load_word<std::uint64_t>(text.data()));
  return text.size() >= 8 ? number : number & ~(~std::uint64_t{0} >> (8 * text.size()));
}

struct Ordered {
  std::uint64_t leading;
  std::uint32_t index;
};

// By the leading bytes, the last of them first: each pass keeps the order of the one before (Knuth, TAOCP 3, 5.2.5).
void sort_by_leading(std::vector<Ordered>& order) {
  constexpr unsigned kDigitBits = 11;
  constexpr std::uint64_t kDigits = std::uint64_t{1} << kDigitBits;
  std::vector<Ordered> sorted(order.size());
  for (unsigned shift = 0; shift < 64; shift += kDigitBits) {
    const auto digit = [shift](const Ordered& entry) { return entry.leading >> shift & (kDigits - 1); };
    std::array<std::uint32_t, kDigits + 1> begins{};
    for (const Ordered& entry : order)
      ++begins[digit(entry) + 1];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    for (const Ordered& entry : order)
      sorted[begins[digit(entry)]++] = entry;
    order.swap(sorted);
  }
}

// std::popcount is a call of a function where the instruction cannot be relied on.
std::uint32_t count_bits(std::uint64_t bits) {
  bits -= bits >> 1 & 0x5555555555555555u;
  bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
  bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  return static_cast<std::uint32_t>(bits * 0x0101010101010101u >> 56);
}

// The place of a text's first character in a table of those of three bytes. False if it has not as many.
bool three_bytes_index(std::string_view text, std::size_t& index) {
  if (text.size() < 3 || (byte_at(text, 0) & 0xF0) != 0xE0) return false;
  index = std::size_t{byte_at(text, 0) & 0x0FU} << 12 | (byte_at(text, 1) & 0x3FU) << 6 | (byte_at(text, 2) & 0x3FU);
  return base::is_continuation(text[1]) && base::is_continuation(text[2]);
}

}  // namespace

std::vector<TokenTrie::Text> TokenTrie::sorted(std::string_view bytes, const std::vector<Entry>& entries) {
  std::vector<Ordered> order(entries.size());
  for (std::uint32_t i = 0; i < entries.size(); ++i)
    order[i] = {leading_bytes(bytes.substr(entries[i].begin, entries[i].size)), i};
  sort_by_leading(order);
  std::vector<Text> texts;
  texts.reserve(entries.size());
  for (const Ordered& ordered : order) {
    const Entry& entry = entries[ordered.index];
    texts.push_back({bytes.substr(entry.begin, entry.size), entry.id});
  }
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    for (end = begin + 1; end < order.size() && order[end].leading == order[begin].leading;)
      ++end;
    if (end > begin + 1) std::ranges::sort(std::span(texts).subspan(begin, end - begin), {}, &Text::bytes);
  }
  return texts;
}

bool TokenTrie::build(std::string_view bytes, const std::vector<Entry>& entries) {
  const std::vector<Text> texts = sorted(bytes, entries);
  TokenId max_id = -1;
  for (const Text& text : texts)
    max_id = std::max(max_id, text.id);
  if (max_id < 0 || max_id > kMaxId) return false;
  links_.assign(static_cast<std::size_t>(max_id) + 1, {});
  nodes_.reserve(3 * texts.size());  // in published vocabularies
  nodes_.assign(1, {});
  std::vector<Span> todo = {{0, 0, static_cast<std::uint32_t>(texts.size()), 0}};
  while (!todo.empty()) {
    const Span span = todo.back();
    todo.pop_back();
    if (span.end - span.begin == 1) {
      add_chain(span.node, texts[span.begin], span.depth);
    } else {
      add_children(span, texts, todo);
    }
    if (nodes_.size() > kMaxNodes) return false;
  }
  index_first_bytes();
  return true;
}

// The nodes of the bytes from `depth` on of a text that shares them with none, each the only child of the one before.
void TokenTrie::add_chain(std::uint32_t node, const Text& text, std::uint32_t depth) {
  for (; depth < text.bytes.size(); ++depth) {
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    nodes_[node].first_child = next & (kMaxNodes - 1);
    nodes_[node].num_children = 1;
    add_node(nodes_[node], text, depth);
    node = next;
  }
}

// The first child's children come next, and so on down.
void TokenTrie::add_children(const Span& span, const std::vector<Text>& texts, std::vector<Span>& todo) {
  const std::size_t first_todo = todo.size();
  // The node's own text is the first of its span.
  for (std::uint32_t i = span.begin + (texts[span.begin].bytes.size() == span.depth ? 1 : 0); i < span.end;) {
    const std::uint32_t begin = i;
    const unsigned char label = byte_at(texts[begin].bytes, span.depth);
    while (i < span.end && byte_at(texts[i].bytes, span.depth) == label)
      ++i;
    todo.push_back({0, begin, i, span.depth + 1});
  }
  const std::span<Span> children = std::span(todo).subspan(first_todo);
  if (children.empty()) return;
  if (children.size() > kFewChildren) nodes_.resize(nodes_.size() + kSetNodes);
  const auto first_child = static_cast<std::uint32_t>(nodes_.size());
  nodes_[span.node].first_child = first_child & (kMaxNodes - 1);
  nodes_[span.node].num_children = children.size() & 0x1FFU;
  for (Span& child : children) {
    child.node = static_cast<std::uint32_t>(nodes_.size());
    add_node(nodes_[span.node], texts[child.begin], span.depth);
  }
  if (children.size() > kFewChildren) add_set(nodes_[span.node]);
  std::ranges::reverse(children);
}

void TokenTrie::add_node(const Node& parent, const Text& text, std::uint32_t depth) {
  Node node;
  node.label = byte_at(text.bytes, depth);
  node.longest = parent.longest;
  if (text.bytes.size() == depth + 1) {
    links_[static_cast<std::size_t>(text.id)] = {static_cast<TokenId>(node.longest) - 1, depth + 1};
    node.longest = static_cast<std::uint64_t>(text.id + 1) & ((1U << 21U) - 1);
    node.ends_token = 1;
  }
  nodes_.push_back(node);
}

// The set of the children's bytes, in the places before the first child.
void TokenTrie::add_set(const Node& node) {
  std::array<std::uint64_t, kSetNodes> set{};
  const auto first = static_cast<std::uint32_t>(node.first_child);
  for (std::uint32_t i = first; i < nodes_.size(); ++i) {
    const auto label = static_cast<unsigned>(nodes_[i].label);
    set[label / 64] |= std::uint64_t{1} << (label % 64);
  }
  std::uint64_t before = 0;
  for (std::uint32_t i = 0; i + 1 < kSetNodes; ++i) {
    set.back() |= before << (16 * i);
    before += count_bits(set[i]);
  }
  for (std::uint32_t i = 0; i < kSetNodes; ++i)
    nodes_[first - kSetNodes + i] = std::bit_cast<Node>(set[i]);
}

template <typename Visit>
void TokenTrie::for_each_child(const Node& node, Visit visit) const {
  const auto first = static_cast<std::uint32_t>(node.first_child);
  for (std::uint32_t i = first; i < first + node.num_children; ++i)
    visit(nodes_[i]);
}

void TokenTrie::index_first_bytes() {
  first_nodes_.assign(256, {});
  second_nodes_.assign(std::size_t{1} << 16, {});
  third_nodes_.assign(std::size_t{1} << 16, {});
  for_each_child(nodes_[0], [this](const Node& first) {
    first_nodes_[first.label] = first;
    for_each_child(first, [&](const Node& second) {
      second_nodes_[std::size_t{first.label} << 8 | second.label] = second;
      if (first.label < 0xE0 || first.label > 0xEF) return;
      for_each_child(second, [&](const Node& third) {
        const char text[] = {static_cast<char>(first.label), static_cast<char>(second.label),
                             static_cast<char>(third.label)};
        std::size_t index = 0;
        if (three_bytes_index({text, 3}, index)) third_nodes_[index] = third;
      });
    });
  });
}

// The node of a text's first bytes and how many they are; 1 where there is nothing further down.
inline std::uint32_t TokenTrie::first_step(std::string_view text, Node& node) const {
  std::size_t index = 0;
  if (three_bytes_index(text, index) && third_nodes_[index].exists()) return node = third_nodes_[index], 3;
  if (text.size() >= 2) {
    node = second_nodes_[std::size_t{byte_at(text, 0)} << 8 | byte_at(text, 1)];
    if (node.exists()) return 2;
  }
  node = first_nodes_[byte_at(text, 0)];
  node.num_children = 0;
  return 1;
}

// 0 where there is none.
inline std::uint32_t TokenTrie::child(const Node& node, unsigned char byte) const {
  const auto first = static_cast<std::uint32_t>(node.first_child);
  if (node.num_children <= kFewChildren) {
    for (std::uint32_t i = first; i < first + node.num_children; ++i) {
      if (nodes_[i].label == byte) return i;
    }
    return 0;
  }
  const Node* set = &nodes_[first - kSetNodes];
  const auto word = std::bit_cast<std::uint64_t>(set[byte / 64]);
  if ((word >> (byte % 64) & 1U) == 0) return 0;
  const std::uint64_t before = std::bit_cast<std::uint64_t>(set[kSetNodes - 1]) >> (16 * (byte / 64)) & 0xFFFF;
  return first + static_cast<std::uint32_t>(before) + count_bits(word & ((std::uint64_t{1} << (byte % 64)) - 1));
}

// Functions of this file that are called per byte are inline: a library's others could be replaced when it is loaded.
TokenTrie::Match TokenTrie::longest(std::string_view text) const {
  Node node;
  std::uint32_t depth = first_step(text, node);
  std::uint32_t length = node.ends_token != 0 ? depth : 0;
  while (depth < text.size() && node.num_children != 0) {
    const std::uint32_t next = child(node, byte_at(text, depth));
    if (next == 0) break;
    node = nodes_[next];
    ++depth;
    if (node.ends_token != 0) length = depth;
  }
  const auto id = static_cast<TokenId>(node.longest) - 1;
  // Where none ends behind the first step, the longest is a beginning of what it leads to.
  if (length == 0 && id >= 0) length = links_[static_cast<std::size_t>(id)].length;
  return {id, length};
}

}  // namespace vitrine::tokenizer
