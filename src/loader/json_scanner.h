#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vitrine::loader {

// Reads JSON token by token, for a header whose structure the caller knows: nothing is built and nothing recurses.
// The text must be UTF-8. Every function skips white space first and throws base::Exception (kBadFile), with the
// position, when the text goes on with something else.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : text_(text) {}

  void expect(char punctuation);
  bool accept(char punctuation);  // moves only when it is there
  std::string read_string();      // unescaped; lone surrogates are refused
  std::uint64_t read_unsigned();  // digits only: no sign, fraction, exponent or leading zero
  bool at_end();                  // nothing but white space is left

 private:
  [[noreturn]] void fail_expected(std::string_view what) const;
  void skip_space();
  void read_escape(std::string& out);
  std::uint32_t read_hex4();
  std::uint32_t read_code_point();

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace vitrine::loader
