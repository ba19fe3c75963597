#include "tokenizer/character_masks.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "support/random_seed.h"
#include "tokenizer/unicode.h"

namespace vitrine::tokenizer {
namespace {

std::string text_of_runs(std::mt19937& random) {
  static const std::u32string others =
      U"\u00E9\u00C9\u01C5\u02B0\u4E00\u9FFF\u4DC0\u3400\u3042\u0301\u0903\u0661\u3000\u0085\U0001F600\u2028";
  std::string text;
  for (std::size_t runs = random() % 12; runs > 0; --runs) {
    const bool ascii = random() % 2 == 0;
    for (std::size_t i = random() % 90; i > 0; --i)
      base::append_utf8(text, ascii ? static_cast<char32_t>(random() % 128) : others[random() % others.size()]);
  }
  return text;
}

// The character of every byte.
std::vector<char32_t> characters_of(std::string_view text) {
  std::vector<char32_t> characters;
  std::size_t length = 0;
  for (std::size_t i = 0; i < text.size(); i += length)
    characters.insert(characters.end(), (base::decode_valid_utf8(text.data() + i, length), length),
                      base::decode_valid_utf8(text.data() + i, length));
  return characters;
}

template <auto kMask>
void expect_bits(const CharacterMasks& masks, const std::vector<char32_t>& characters, bool (*has)(char32_t)) {
  const auto bits = [](const CharacterMasks::Block& block) { return block.*kMask; };
  for (std::size_t i = 0; i < characters.size(); ++i)
    ASSERT_EQ(masks.is(i, bits), has(characters[i])) << i << ": U+" << std::hex << std::uint32_t{characters[i]};
  EXPECT_FALSE(masks.is(characters.size(), bits));
}

TEST(CharacterMasks, SayWhatEachCharacterIs) {
  using Block = CharacterMasks::Block;
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const std::string text = text_of_runs(random);
    const std::vector<char32_t> characters = characters_of(text);
    const CharacterMasks masks(text);
    expect_bits<&Block::letter>(masks, characters, [](char32_t cp) { return is_letter(cp); });
    expect_bits<&Block::number>(masks, characters, [](char32_t cp) { return is_number(cp); });
    expect_bits<&Block::space>(masks, characters, [](char32_t cp) { return is_space(cp); });
    expect_bits<&Block::newline>(masks, characters, [](char32_t cp) { return cp == '\n' || cp == '\r'; });
    expect_bits<&Block::mark>(masks, characters, [](char32_t cp) { return is_mark(cp); });
    expect_bits<&Block::lower>(masks, characters, [](char32_t cp) { return category(cp) == Category::kLl; });
    expect_bits<&Block::upper>(
        masks, characters, [](char32_t cp) { return category(cp) == Category::kLu || category(cp) == Category::kLt; });
    expect_bits<&Block::other>(masks, characters,
                               [](char32_t cp) { return !is_space(cp) && !is_letter(cp) && !is_number(cp); });
  }
}

TEST(CharacterMasks, FindTheEndsOfRuns) {
  const auto letters = [](const CharacterMasks::Block& block) { return block.letter; };
  const std::uint32_t seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    const std::string text = text_of_runs(random);
    const CharacterMasks masks(text);
    for (std::size_t pos = 0; pos <= text.size(); ++pos) {
      std::size_t end = pos;
      while (masks.is(end, letters))
        ++end;
      ASSERT_EQ(masks.run_end(pos, letters), end);
      const std::size_t begin = pos - std::min<std::size_t>(pos, random() % 200);
      std::size_t last = pos;
      while (last > begin && !masks.is(last - 1, letters))
        --last;
      ASSERT_EQ(masks.last_end(begin, pos, letters), last);
    }
  }
}

}  // namespace
}  // namespace vitrine::tokenizer
