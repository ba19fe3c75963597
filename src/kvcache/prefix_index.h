#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "base/token_id.h"
#include "kvcache/block_id.h"

namespace vitrine::kvcache {

// Names a prompt from its first token up to a block's end: SHA-256 of the name of the block before it and of its
// tokens.
using PrefixDigest = base::Sha256Digest;

// The name that stands before the first block. `seed` holds everything but the tokens on which the bits of keys and
// values depend (model, adapter, KV type, numeric paths, instruction set); `salt` keeps tenants apart and comes from
// the server.
PrefixDigest prefix_root(std::string_view seed, std::string_view salt);

// A prompt and the names of its prefixes: digests[0] is the root, digests[i + 1] names tokens [0, (i + 1) *
// kBlockTokens). Empty digests switch prefix caching off for the sequence.
struct PrefixView {
  std::span<const TokenId> tokens;
  std::span<const PrefixDigest> digests;

  std::size_t num_blocks() const { return digests.empty() ? 0 : digests.size() - 1; }
  const PrefixDigest& parent(std::size_t block_idx) const { return digests[block_idx]; }
  const PrefixDigest& digest(std::size_t block_idx) const { return digests[block_idx + 1]; }
  std::span<const TokenId> block_tokens(std::size_t block_idx) const {
    return tokens.subspan(block_idx * kBlockTokens, kBlockTokens);
  }
};

// The digests of a PrefixView: the root and one per full block of `prompt`. Linear; can run on any thread.
std::vector<PrefixDigest> prefix_digests(const PrefixDigest& root, std::span<const TokenId> prompt);

// Where a prompt stops being cached, and why: what a person needs who wonders about the speed of the second request.
struct PrefixExplanation {
  enum class Reason {
    kWholeBlocksCached,  // every full block of the prompt is there
    kTokenDiffers,       // the nearest cached prompt has another token at `position`
    kNothingFollows,     // no cached prompt goes on from here: never computed, evicted, or another tenant's
  };
  Reason reason = Reason::kWholeBlocksCached;
  std::size_t num_cached_tokens = 0;
  std::size_t position = 0;  // kTokenDiffers: the first token that differs, and the two tokens
  TokenId cached_token = 0;
  TokenId requested_token = 0;
};

// Finds the block that holds the keys and values of a given prefix. Only blocks full of prompt rows belong in it: the
// bits of a generated row differ. A hit needs the same digest, the same digest before it and the same tokens. Integers
// only, owned by the engine thread.
class PrefixIndex {
 public:
  explicit PrefixIndex(std::size_t num_blocks) : entry_of_block_(num_blocks, nullptr) {}

  // The block that holds block `block_idx` of the prompt.
  std::optional<BlockId> find(const PrefixView& prompt, std::size_t block_idx) const;
  // False when the prefix is known already (another block holds it).
  bool insert(const PrefixView& prompt, std::size_t block_idx, BlockId block);
  // The block is about to hold something else.
  void forget(BlockId block);

  std::size_t num_entries() const { return entries_.size(); }
  bool contains(BlockId block) const { return entry_of_block_[static_cast<std::size_t>(block)] != nullptr; }

  // Linear in the size of the index: for people, not for the step loop.
  PrefixExplanation explain(const PrefixView& prompt) const;
  // The first invariant that does not hold, in words; empty when all hold.
  std::string check_integrity() const;

 private:
  struct Entry {
    PrefixDigest digest;
    PrefixDigest parent;
    std::array<TokenId, kBlockTokens> tokens;
    BlockId block;

    bool holds(const PrefixView& prompt, std::size_t block_idx) const;
  };
  struct DigestHash {
    std::size_t operator()(const PrefixDigest& digest) const;
  };

  // The cached block after `parent` that shares the most tokens with `wanted`, and how many.
  std::pair<const Entry*, std::size_t> nearest_child(const PrefixDigest& parent, std::span<const TokenId> wanted) const;

  std::unordered_map<PrefixDigest, Entry, DigestHash> entries_;
  std::vector<const Entry*> entry_of_block_;  // null: not in the index
};

}  // namespace vitrine::kvcache
