#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace vitrine::tokenizer {

// What the characters of a text are, a bit a byte: all bytes of a character have its bits. A run of characters then
// ends where a bit is clear, which takes one instruction to find instead of a look at each character.
class CharacterMasks {
 public:
  // Of 64 bytes, a cache line. Beyond the end of the text no bit is set.
  struct alignas(64) Block {
    std::uint64_t letter = 0;   // \p{L}
    std::uint64_t number = 0;   // \p{N}
    std::uint64_t space = 0;    // \s
    std::uint64_t newline = 0;  // [\r\n]
    std::uint64_t mark = 0;     // \p{M}, which is in `other` too
    std::uint64_t upper = 0;    // \p{Lu}\p{Lt}
    std::uint64_t lower = 0;    // \p{Ll}
    std::uint64_t other = 0;    // [^\s\p{L}\p{N}]
  };

  // The text must be valid UTF-8.
  explicit CharacterMasks(std::string_view text);

  // Where the run from `pos` on ends whose bits `bits_of` takes from a block.
  template <typename BitsOf>
  std::size_t run_end(std::size_t pos, BitsOf bits_of) const {
    std::size_t block = pos / 64;
    std::uint64_t outside = ~bits_of(blocks_[block]) >> (pos % 64);
    if (outside != 0) return pos + static_cast<std::size_t>(std::countr_zero(outside));
    do
      outside = ~bits_of(blocks_[++block]);
    while (outside == 0);
    return block * 64 + static_cast<std::size_t>(std::countr_zero(outside));
  }

  // The position behind the last byte of begin..end whose bit is set, `begin` where there is none.
  template <typename BitsOf>
  std::size_t last_end(std::size_t begin, std::size_t end, BitsOf bits_of) const {
    while (end > begin) {
      const std::size_t block = (end - 1) / 64;
      const std::uint64_t bits = bits_of(blocks_[block]) << (63 - (end - 1) % 64);
      if (bits != 0) {
        const std::size_t found = end - static_cast<std::size_t>(std::countl_zero(bits));
        return found > begin ? found : begin;
      }
      end = block * 64;
    }
    return begin;
  }

  // The bits of the 64 bytes from `pos` on, that of `pos` lowest.
  template <typename BitsOf>
  std::uint64_t window(std::size_t pos, BitsOf bits_of) const {
    const Block* const block = &blocks_[pos / 64];
    const std::uint64_t behind = bits_of(block[1]) << 1 << (63 - pos % 64);
    return bits_of(block[0]) >> (pos % 64) | behind;
  }

  template <typename BitsOf>
  bool is(std::size_t pos, BitsOf bits_of) const {
    return (bits_of(blocks_[pos / 64]) >> (pos % 64) & 1U) != 0;
  }

 private:
  std::vector<Block> blocks_;  // two more than the text has, without a bit
};

}  // namespace vitrine::tokenizer
