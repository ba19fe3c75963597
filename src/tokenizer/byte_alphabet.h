#pragma once

#include <optional>
#include <string>
#include <string_view>

// The spelling of byte-level vocabularies: each byte is one printable character (GPT-2: Radford et al., 2019), and the
// spelling of byte tokens, "<0x0A>", in vocabularies with byte fallback.
namespace vitrine::tokenizer {

// The bytes that a byte-level spelling stands for; nullopt if it holds a character outside the alphabet.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);
// Appends them; false, and nothing appended, if it holds such a character.
bool append_bytes_of_spelling(std::string_view spelling, std::string& bytes);
std::string spelling_of_bytes(std::string_view bytes);
// The characters of the alphabet, by byte, in UTF-8.
std::string_view spelling_of_byte(unsigned char byte);

// The byte of exactly "<0xHH>", two hexadecimal digits.
std::optional<unsigned char> byte_of_token(std::string_view piece);
std::string token_of_byte(unsigned char byte);

}  // namespace vitrine::tokenizer
