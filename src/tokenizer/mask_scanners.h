#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/pattern.h"

// The splitter patterns of most published byte-level vocabularies by masks of characters; known_patterns.cpp has the
// expressions. Every character of a text is in one of the matches.
namespace vitrine::tokenizer {

void scan_gpt2(std::string_view text, std::vector<Range>& matches);
// What "number" and behind it "gpt2" make of a text.
void scan_number_gpt2(std::string_view text, std::vector<Range>& matches);
void scan_llama3(std::string_view text, std::vector<Range>& matches);
void scan_cl100k(std::string_view text, std::vector<Range>& matches);
void scan_qwen2(std::string_view text, std::vector<Range>& matches);
void scan_qwen3_5(std::string_view text, std::vector<Range>& matches);
void scan_o200k(std::string_view text, std::vector<Range>& matches);
void scan_tekken(std::string_view text, std::vector<Range>& matches);

}  // namespace vitrine::tokenizer
