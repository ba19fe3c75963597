#pragma once

#include <cstdint>

// Two-level table of general categories: kCategoryOf[kCategoryBlock[cp >> 8]][cp & 255] is a Category (unicode.h).
namespace vitrine::tokenizer {

extern const std::uint8_t kCategoryBlock[0x1100];
extern const std::uint8_t kCategoryOf[][256];

}  // namespace vitrine::tokenizer
