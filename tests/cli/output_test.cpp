#include "vitrine/output.h"

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace vitrine::cli {
namespace {

TEST(Columns, AWideCharacterTakesTwoAndACombiningOneNone) {
  EXPECT_EQ(num_columns(""), 0U);
  EXPECT_EQ(num_columns("abc"), 3U);
  EXPECT_EQ(num_columns("\u5927\u8bed\u8a00"), 6U);
  EXPECT_EQ(num_columns("\uff21\u3000\uff61"), 5U) << "full width, full width, half width";
  EXPECT_EQ(num_columns("e\u0301\u200d"), 1U);
  EXPECT_EQ(num_columns("\U0001f600"), 2U);
  EXPECT_EQ(num_columns("caf\u00e9\x80"), 5U) << "a byte that is not UTF-8 is shown as one character";
  EXPECT_EQ(num_characters("\u5927e\u0301"), 3U);
}

std::string printed(const Table& table) {
  std::FILE* file = std::tmpfile();
  print_table(Terminal(file), table);
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

TEST(Columns, CellsOfATableStandBelowEachOther) {
  const Table table{.header = {"NAME", "COUNT", "TOKEN"},
                    .right = {1},
                    .rows = {{"\u5927\u8bed\u8a00", "5", "x"}, {"ab", "\u4e94\u5341", "y"}, {"e\u0301", "12", "z"}}};
  EXPECT_EQ(printed(table),
            "NAME    COUNT  TOKEN\n"
            "\u5927\u8bed\u8a00      5  x\n"
            "ab       \u4e94\u5341  y\n"
            "e\u0301          12  z\n");
}

}  // namespace
}  // namespace vitrine::cli
