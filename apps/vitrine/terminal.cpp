#include "vitrine/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include <fmt/format.h>

namespace vitrine::cli {
namespace {

bool wants_colour(bool is_tty) {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  return is_tty && (term == nullptr || std::string_view(term) != "dumb");
}

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 where there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  if (lead == 0xE0 && second < 0xA0) return 0;
  if (lead == 0xED && second > 0x9F) return 0;
  if (lead == 0xF0 && second < 0x90) return 0;
  if (lead == 0xF4 && second > 0x8F) return 0;
  // C1 controls (U+0080..U+009F) steer terminals as well.
  if (lead == 0xC2 && second < 0xA0) return 0;
  return length;
}

std::string hex_escape(char c) {
  return fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
}

// `text` with each byte that is a control character or no UTF-8 replaced by what `replace` makes of it.
template <typename Replace>
std::string shown(std::string_view text, Replace replace) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(text);
    const bool is_plain = length != 0 && first >= 0x20 && first != 0x7F;
    if (is_plain) {
      result += text.substr(0, length);
    } else {
      result += replace(text.front());
    }
    text.remove_prefix(is_plain ? length : 1);
  }
  return result;
}

}  // namespace

Terminal::Terminal(std::FILE* stream)
    : stream_(stream), is_tty_(::isatty(::fileno(stream)) == 1), has_colour_(wants_colour(is_tty_)) {}

int Terminal::width() const {
  winsize size{};
  if (::ioctl(::fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

void Terminal::print(std::string_view text) const {
  std::fwrite(text.data(), 1, text.size(), stream_);
}

std::string Terminal::stripe(std::size_t index, std::string_view text) const {
  constexpr std::array<std::string_view, 4> kBackgrounds = {"30;46", "30;43", "30;42", "30;45"};
  return styled(kBackgrounds[index % kBackgrounds.size()], text);
}

std::string Terminal::styled(std::string_view code, std::string_view text) const {
  if (!has_colour_) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

std::string printable(std::string_view text) {
  return shown(text, [](char c) { return c == '\n' ? " " : hex_escape(c); });
}

std::string printable_lines(std::string_view text) {
  return shown(text, [](char c) { return c == '\n' || c == '\t' ? std::string(1, c) : hex_escape(c); });
}

bool ask_yes_no(const Terminal& err, std::string_view question) {
  if (::isatty(STDIN_FILENO) != 1) return false;
  err.print(fmt::format("{} [y/N] ", question));
  std::fflush(err.stream());
  const int answer = std::getchar();
  for (int c = answer; c != '\n' && c != EOF;)
    c = std::getchar();
  return answer == 'y' || answer == 'Y';
}

}  // namespace vitrine::cli
