#include "tokenizer/token_trie.h"

#include <algorithm>
#include <array>
#include <bit>

namespace vitrine::tokenizer {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

}  // namespace

bool TokenTrie::build(std::vector<Entry> entries) {
  std::ranges::sort(entries, {}, &Entry::bytes);
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
  std::vector<Span> children;
  for (std::uint32_t i = span.begin; i < span.end;) {
    if (entries[i].bytes.size() == span.depth) {  // the node's own text, the first of its span
      ++i;
      continue;
    }
    const std::uint32_t begin = i;
    while (i < span.end && byte_at(entries[i].bytes, span.depth) == byte_at(entries[begin].bytes, span.depth))
      ++i;
    children.push_back({0, begin, i, span.depth + 1});
  }
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
  todo.insert(todo.end(), children.rbegin(), children.rend());
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

// The set of the children's bytes, in the four places before the first child.
void TokenTrie::add_set(const Node& node) {
  std::array<std::uint64_t, kSetNodes> set{};
  const auto first = static_cast<std::uint32_t>(node.first_child);
  for (std::uint32_t i = first; i < nodes_.size(); ++i) {
    const auto label = static_cast<unsigned>(nodes_[i].label);
    set[label / 64] |= std::uint64_t{1} << (label % 64);
  }
  for (std::uint32_t i = 0; i < kSetNodes; ++i)
    nodes_[first - kSetNodes + i] = std::bit_cast<Node>(set[i]);
}

void TokenTrie::index_first_bytes() {
  first_nodes_.assign(256, 0);
  second_nodes_.assign(std::size_t{1} << 16, 0);
  for (std::uint32_t i = 0; i < nodes_[0].num_children; ++i) {
    const auto first = static_cast<std::uint32_t>(nodes_[0].first_child) + i;
    first_nodes_[nodes_[first].label] = first;
    for (std::uint32_t j = 0; j < nodes_[first].num_children; ++j) {
      const auto second = static_cast<std::uint32_t>(nodes_[first].first_child) + j;
      second_nodes_[std::size_t{nodes_[first].label} << 8 | nodes_[second].label] = second;
    }
  }
}

// 0 where there is none.
std::uint32_t TokenTrie::child(const Node& node, unsigned char byte) const {
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
  int before = std::popcount(word & ((std::uint64_t{1} << (byte % 64)) - 1));
  for (unsigned i = 0; i < byte / 64U; ++i)
    before += std::popcount(std::bit_cast<std::uint64_t>(set[i]));
  return first + static_cast<std::uint32_t>(before);
}

TokenTrie::Match TokenTrie::match(std::string_view text) const {
  std::uint32_t node_idx = 0;
  std::size_t depth = 0;
  if (text.size() >= 2) {
    node_idx = second_nodes_[std::size_t{byte_at(text, 0)} << 8 | byte_at(text, 1)];
    depth = 2;
  }
  if (node_idx == 0) {
    node_idx = first_nodes_[byte_at(text, 0)];
    depth = 1;
    if (node_idx == 0 || text.size() > 1) return {static_cast<TokenId>(nodes_[node_idx].longest) - 1, -1};
  }
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
