#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace vitrine::cli {

// What a stream can show. Colours only on a terminal, and never with NO_COLOR set or TERM=dumb.
class Terminal {
 public:
  explicit Terminal(std::FILE* stream);

  std::FILE* stream() const { return stream_; }
  bool is_tty() const { return is_tty_; }
  bool has_colour() const { return has_colour_; }
  // Columns; 80 where it can't be known.
  int width() const;

  std::string bold(std::string_view text) const { return styled("1", text); }
  std::string dim(std::string_view text) const { return styled("2", text); }
  std::string green(std::string_view text) const { return styled("32", text); }
  std::string yellow(std::string_view text) const { return styled("33", text); }

  // One of a row of stripes, neighbours in different background colours.
  std::string stripe(std::size_t index, std::string_view text) const;

  void print(std::string_view text) const;

 private:
  std::string styled(std::string_view code, std::string_view text) const;

  std::FILE* stream_;
  bool is_tty_;
  bool has_colour_;
};

// `text` with control characters and bytes that are not UTF-8 replaced by \xNN, so that names from files and servers
// can neither break a line nor steer the terminal.
std::string printable(std::string_view text);

// The same, but lines and tabs are kept: for text of many lines, such as an answer.
std::string printable_lines(std::string_view text);

// Asks "question [y/N] " on stderr; false at once where stdin is not a terminal.
bool ask_yes_no(const Terminal& err, std::string_view question);

}  // namespace vitrine::cli
