#pragma once

#include <cstddef>
#include <cstdint>

namespace vitrine::kvcache {

// Index of a block of the KV cache; each block holds the keys and values of kBlockTokens consecutive positions of one
// sequence in every layer.
enum class BlockId : std::uint32_t {};

// 16: one SIMD lane per position when keys are stored transposed inside the block (see kv_cache.h).
inline constexpr std::size_t kBlockTokens = 16;

// Whose blocks are counted together: those of one tenant.
using HolderId = std::uint64_t;

}  // namespace vitrine::kvcache
