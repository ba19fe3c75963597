#include "tokenizer/token_trie.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>
#include <utility>

#include "base/utf8.h"

namespace vitrine::tokenizer {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// The first eight bytes as a number of the same order, zeros behind a shorter text.
std::uint64_t leading_bytes(std::string_view text) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i)
    number = number << 8 | (i < text.size() ? byte_at(text, i) : 0U);
  return number;
}

struct Ordered {
  std::uint64_t leading;
  std::uint32_t index;
};

// By the leading bytes, the last of them first: each pass keeps the order of the one before (Knuth, TAOCP 3, 5.2.5).
void sort_by_leading(std::vector<Ordered>& order) {
  std::vector<Ordered> sorted(order.size());
  for (unsigned shift = 0; shift < 64; shift += 8) {
    std::array<std::uint32_t, 257> begins{};
    for (const Ordered& entry : order)
      ++begins[(entry.leading >> shift & 0xFF) + 1];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    for (const Ordered& entry : order)
      sorted[begins[entry.leading >> shift & 0xFF]++] = entry;
    order.swap(sorted);
  }
}

void sort(std::vector<TokenTrie::Entry>& entries) {
  std::vector<Ordered> order(entries.size());
  for (std::uint32_t i = 0; i < entries.size(); ++i)
    order[i] = {leading_bytes(entries[i].bytes), i};
  sort_by_leading(order);
  std::vector<TokenTrie::Entry> sorted;
  sorted.reserve(entries.size());
  for (const Ordered& entry : order)
    sorted.push_back(entries[entry.index]);
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    for (end = begin + 1; end < order.size() && order[end].leading == order[begin].leading;)
      ++end;
    const auto equal = std::span(sorted).subspan(begin, end - begin);
    if (equal.size() > 1) std::ranges::sort(equal, {}, &TokenTrie::Entry::bytes);
  }
  entries = std::move(sorted);
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

bool TokenTrie::build(std::vector<Entry> entries) {
  sort(entries);
  TokenId max_id = -1;
  for (const Entry& entry : entries)
    max_id = std::max(max_id, entry.id);
  if (max_id < 0 || max_id > kMaxId) return false;
  shorter_.assign(static_cast<std::size_t>(max_id) + 1, -1);
  nodes_.assign(1, {});
  std::vector<Span> todo = {{0, 0, static_cast<std::uint32_t>(entries.size()), 0}};
  while (!todo.empty()) {
    const Span span = todo.back();
    todo.pop_back();
    add_children(span, entries, todo);
    if (nodes_.size() > kMaxNodes) return false;
  }
  index_first_bytes();
  return true;
}

// The first child's children come next, and so on down.
void TokenTrie::add_children(const Span& span, const std::vector<Entry>& entries, std::vector<Span>& todo) {
  const std::size_t first_todo = todo.size();
  for (std::uint32_t i = span.begin; i < span.end;) {
    if (entries[i].bytes.size() == span.depth) {  // the node's own text, the first of its span
      ++i;
      continue;
    }
    const std::uint32_t begin = i;
    while (i < span.end && byte_at(entries[i].bytes, span.depth) == byte_at(entries[begin].bytes, span.depth))
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
    add_node(span.node, entries[child.begin], span.depth);
  }
  if (children.size() > kFewChildren) add_set(nodes_[span.node]);
  std::ranges::reverse(children);
}

void TokenTrie::add_node(std::uint32_t parent, const Entry& entry, std::uint32_t depth) {
  Node node;
  node.label = byte_at(entry.bytes, depth);
  node.longest = nodes_[parent].longest;
  if (entry.bytes.size() == depth + 1) {
    if (entry.is_match) {
      shorter_[static_cast<std::size_t>(entry.id)] = static_cast<TokenId>(node.longest) - 1;
      node.longest = static_cast<std::uint64_t>(entry.id + 1) & ((1U << 21U) - 1);
      node.ends_match = 1;
    } else {
      others_.insert(nodes_.size(), entry.id);
      node.ends_other = 1;
    }
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
    before += static_cast<std::uint64_t>(std::popcount(set[i]));
  }
  for (std::uint32_t i = 0; i < kSetNodes; ++i)
    nodes_[first - kSetNodes + i] = std::bit_cast<Node>(set[i]);
}

void TokenTrie::index_first_bytes() {
  first_nodes_.assign(256, 0);
  second_nodes_.assign(std::size_t{1} << 16, 0);
  third_nodes_.assign(std::size_t{1} << 16, 0);
  for (std::uint32_t i = 0; i < nodes_[0].num_children; ++i) {
    const auto first = static_cast<std::uint32_t>(nodes_[0].first_child) + i;
    first_nodes_[nodes_[first].label] = first;
    for (std::uint32_t j = 0; j < nodes_[first].num_children; ++j) {
      const auto second = static_cast<std::uint32_t>(nodes_[first].first_child) + j;
      second_nodes_[std::size_t{nodes_[first].label} << 8 | nodes_[second].label] = second;
      for (std::uint32_t k = 0; k < nodes_[second].num_children; ++k) {
        const auto third = static_cast<std::uint32_t>(nodes_[second].first_child) + k;
        const char text[] = {static_cast<char>(nodes_[first].label), static_cast<char>(nodes_[second].label),
                             static_cast<char>(nodes_[third].label)};
        std::size_t index = 0;
        if (three_bytes_index({text, 3}, index)) third_nodes_[index] = third;
      }
    }
  }
}

// The node of a text's first bytes and how many they are; 0 and the first node where there is nothing further down.
inline std::size_t TokenTrie::first_step(std::string_view text, std::uint32_t& node) const {
  std::size_t index = 0;
  if (three_bytes_index(text, index) && third_nodes_[index] != 0) return node = third_nodes_[index], 3;
  if (text.size() >= 2) {
    node = second_nodes_[std::size_t{byte_at(text, 0)} << 8 | byte_at(text, 1)];
    if (node != 0) return 2;
  }
  node = first_nodes_[byte_at(text, 0)];
  return node != 0 && text.size() == 1 ? 1 : 0;
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
TokenTrie::Match TokenTrie::match(std::string_view text) const {
  std::uint32_t node_idx = 0;
  std::size_t depth = first_step(text, node_idx);
  if (depth == 0) return {static_cast<TokenId>(nodes_[node_idx].longest) - 1, -1};
  for (; depth < text.size(); ++depth) {
    const std::uint32_t next = child(nodes_[node_idx], byte_at(text, depth));
    if (next == 0) return {static_cast<TokenId>(nodes_[node_idx].longest) - 1, -1};
    node_idx = next;
  }
  const Node& node = nodes_[node_idx];
  const auto longest = static_cast<TokenId>(node.longest) - 1;
  if (node.ends_match != 0) return {longest, longest};
  return {longest, node.ends_other != 0 ? *others_.find(node_idx) : -1};
}

}  // namespace vitrine::tokenizer
