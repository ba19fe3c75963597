#include "kvcache/prefix_index.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/check.h"

namespace vitrine::kvcache {
namespace {

void update_with_text(base::Sha256& hash, std::string_view text) {
  // The length goes first so that no seed and salt can be cut elsewhere and give the same bytes.
  const std::uint64_t size = text.size();
  hash.update(std::as_bytes(std::span(&size, 1)));
  hash.update(std::as_bytes(std::span(text)));
}

std::size_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

PrefixDigest prefix_root(std::string_view seed, std::string_view salt) {
  base::Sha256 hash;
  update_with_text(hash, seed);
  update_with_text(hash, salt);
  return hash.finish();
}

std::vector<PrefixDigest> prefix_digests(const PrefixDigest& root, std::span<const TokenId> prompt) {
  std::vector<PrefixDigest> digests;
  digests.reserve(prompt.size() / kBlockTokens + 1);
  digests.push_back(root);
  for (std::size_t first = 0; first + kBlockTokens <= prompt.size(); first += kBlockTokens) {
    base::Sha256 hash;
    hash.update(std::as_bytes(std::span(digests.back())));
    hash.update(std::as_bytes(prompt.subspan(first, kBlockTokens)));
    digests.push_back(hash.finish());
  }
  return digests;
}

std::size_t PrefixIndex::DigestHash::operator()(const PrefixDigest& digest) const {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof(hash));
  return hash;
}

bool PrefixIndex::Entry::holds(const PrefixView& prompt, std::size_t block_idx) const {
  return parent == prompt.parent(block_idx) && std::ranges::equal(tokens, prompt.block_tokens(block_idx));
}

std::optional<BlockId> PrefixIndex::find(const PrefixView& prompt, std::size_t block_idx) const {
  const auto found = entries_.find(prompt.digest(block_idx));
  if (found == entries_.end() || !found->second.holds(prompt, block_idx)) return std::nullopt;
  return found->second.block;
}

bool PrefixIndex::insert(const PrefixView& prompt, std::size_t block_idx, BlockId block) {
  VT_CHECK(!contains(block), "a block holds one prefix");
  Entry entry{prompt.digest(block_idx), prompt.parent(block_idx), {}, block};
  std::ranges::copy(prompt.block_tokens(block_idx), entry.tokens.begin());
  const auto [place, is_new] = entries_.try_emplace(entry.digest, entry);
  if (is_new) entry_of_block_[static_cast<std::size_t>(block)] = &place->second;
  return is_new;
}

void PrefixIndex::forget(BlockId block) {
  const Entry*& entry = entry_of_block_[static_cast<std::size_t>(block)];
  VT_CHECK(entry != nullptr, "the block is not in the index");
  const PrefixDigest digest = entry->digest;
  entry = nullptr;
  entries_.erase(digest);
}

std::pair<const PrefixIndex::Entry*, std::size_t> PrefixIndex::nearest_child(const PrefixDigest& parent,
                                                                             std::span<const TokenId> wanted) const {
  std::pair<const Entry*, std::size_t> nearest{nullptr, 0};
  for (const auto& [digest, entry] : entries_) {
    if (entry.parent != parent) continue;
    const std::size_t common = common_prefix(wanted, entry.tokens);
    if (nearest.first == nullptr || common > nearest.second) nearest = {&entry, common};
  }
  return nearest;
}

PrefixExplanation PrefixIndex::explain(const PrefixView& prompt) const {
  using enum PrefixExplanation::Reason;
  std::size_t num_hits = 0;
  while (num_hits < prompt.num_blocks() && find(prompt, num_hits)) {
    ++num_hits;
  }
  PrefixExplanation answer{kWholeBlocksCached, num_hits * kBlockTokens};
  if (num_hits == prompt.num_blocks()) return answer;
  const auto wanted = prompt.block_tokens(num_hits);
  const auto [nearest, common] = nearest_child(prompt.digests[num_hits], wanted);
  answer.reason = nearest == nullptr ? kNothingFollows : kTokenDiffers;
  if (nearest == nullptr) return answer;
  answer.position = answer.num_cached_tokens + common;
  answer.cached_token = nearest->tokens[common];
  answer.requested_token = wanted[common];
  return answer;
}

std::string PrefixIndex::check_integrity() const {
  std::size_t num_blocks_known = 0;
  for (const Entry* entry : entry_of_block_) {
    if (entry == nullptr) continue;
    ++num_blocks_known;
    const auto found = entries_.find(entry->digest);
    if (found == entries_.end() || &found->second != entry) return "a block points at an entry that is gone";
  }
  if (num_blocks_known != entries_.size()) return "an entry of the prefix index names no block";
  for (const auto& [digest, entry] : entries_) {
    if (entry_of_block_[static_cast<std::size_t>(entry.block)] != &entry) return "two entries name one block";
    base::Sha256 hash;
    hash.update(std::as_bytes(std::span(entry.parent)));
    hash.update(std::as_bytes(std::span(entry.tokens)));
    if (hash.finish() != digest) return "an entry's digest is not that of its tokens";
  }
  return "";
}

}  // namespace vitrine::kvcache
