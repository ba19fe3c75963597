#include "tokenizer/oniguruma.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace vitrine::tokenizer {
namespace {

constexpr std::string_view kHexDigits = "0-9A-Fa-f";
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxBytes = std::size_t{64} << 10;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// What a class between [ and ] holds, or one side of an &&.
struct Members {
  std::string text;
  bool negated = false;

  std::string as_class() const { return (negated ? "[^" : "[") + text + "]"; }
};

class Translation {
 public:
  explicit Translation(std::string_view source) : source_(source) {}

  std::string run() {
    while (!at_end())
      take();
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(std::string_view reason) const {
    throw base::Exception(base::ErrorKind::kBadFile,
                          fmt::format("the regular expression, at byte {}: {}", pos_, reason));
  }

  bool at_end() const { return pos_ >= source_.size(); }
  char peek() const { return at_end() ? '\0' : source_[pos_]; }
  bool next_is(std::string_view text) const { return source_.substr(pos_).starts_with(text); }
  std::string_view advance(std::size_t length) {
    const std::string_view taken = source_.substr(pos_, length);
    pos_ += taken.size();
    return taken;
  }

  void take() {
    const char c = peek();
    if (c == '\\') {
      begin_atom();
      take_escape();
    } else if (c == '[') {
      begin_atom();
      ++pos_;
      out_ += read_class(0);
    } else if (c == '(') {
      groups_.push_back(out_.size());
      take_group_head();
    } else if (c == ')') {
      atom_ = groups_.empty() ? out_.size() : groups_.back();
      if (!groups_.empty()) groups_.pop_back();
      out_ += advance(1);
    } else if (c == '{') {
      take_interval();
    } else {
      if (c != '*' && c != '+' && c != '?') begin_atom();
      out_ += advance(1);
      while (!at_end() && (static_cast<unsigned char>(peek()) & 0xC0U) == 0x80U)
        out_ += advance(1);
    }
  }

  void begin_atom() { atom_ = out_.size(); }

  void take_escape() {
    if (next_is("\\h")) {
      advance(2);
      out_ += fmt::format("[{}]", kHexDigits);
    } else if (next_is("\\H")) {
      advance(2);
      out_ += fmt::format("[^{}]", kHexDigits);
    } else {
      out_ += read_escape();
    }
  }

  // An escape that means the same in and outside a class, its braces included.
  std::string read_escape() {
    const char kind = pos_ + 1 < source_.size() ? source_[pos_ + 1] : '\0';
    if (kind == 'u' && pos_ + 6 <= source_.size()) {
      advance(2);
      return fmt::format("\\x{{{}}}", advance(4));
    }
    std::string escape(advance(2));
    const bool has_braces = (kind == 'p' || kind == 'P' || kind == 'x') && peek() == '{';
    if (has_braces) escape += advance(source_.find('}', pos_) - pos_ + 1);
    return escape;
  }

  // "(?i:" and the like; m is what PCRE2 calls s.
  void take_group_head() {
    out_ += advance(1);
    if (peek() != '?') return;
    const std::size_t end = std::min(source_.find_first_not_of("imx-", pos_ + 1), source_.size());
    const bool is_flags = end < source_.size() && (source_[end] == ':' || source_[end] == ')');
    if (!is_flags) return;
    std::string flags(advance(end - pos_));
    std::ranges::replace(flags, 'm', 's');
    out_ += flags;
  }

  void take_interval() {
    std::size_t end = pos_ + 1;
    while (end < source_.size() && (is_digit(source_[end]) || source_[end] == ','))
      ++end;
    const bool is_interval = end < source_.size() && source_[end] == '}' && end > pos_ + 1;
    if (!is_interval) {
      begin_atom();
      out_ += advance(1);
      return;
    }
    std::string interval(advance(end + 1 - pos_));
    if (interval[1] == ',') interval.insert(1, 1, '0');
    out_ += interval;
    if (peek() != '+') return;
    out_.insert(atom_, "(?:");
    out_ += ')';
  }

  // Behind the [.
  std::string read_class(std::size_t depth) {
    const Sides sides = read_sides(depth);
    if (sides.of.size() == 1) return Members{sides.of[0].text, sides.negated != sides.of[0].negated}.as_class();
    std::string both;
    for (std::size_t i = 0; i + 1 < sides.of.size(); ++i)
      both += fmt::format("(?={})", sides.of[i].as_class());
    both += sides.of.back().as_class();
    return sides.negated ? fmt::format("(?:(?!{})(?s:.))", both) : fmt::format("(?:{})", both);
  }

  // A class as the intersection of its sides.
  struct Sides {
    std::vector<Members> of = {{}};
    bool negated = false;
  };

  Sides read_sides(std::size_t depth) {
    if (depth > kMaxDepth) fail("classes nested too deep");
    Sides sides;
    if (next_is("^")) {
      advance(1);
      sides.negated = true;
    }
    if (next_is("]")) sides.of.back().text += advance(1);  // a literal one
    while (!next_is("]")) {
      if (at_end()) fail("a class without its end");
      Members& side = sides.of.back();
      if (next_is("&&")) {
        advance(2);
        sides.of.emplace_back();
      } else if (const std::size_t end = source_.find(":]", pos_); next_is("[:") && end != std::string_view::npos) {
        side.text += advance(end + 2 - pos_);
      } else if (next_is("[")) {
        advance(1);
        add_nested(read_sides(depth + 1), side);
      } else {
        add_member(side);
      }
    }
    advance(1);
    if (std::ranges::any_of(sides.of, [](const Members& side) { return side.text.empty(); })) fail("an empty class");
    return sides;
  }

  void add_member(Members& side) {
    if (side.negated) fail("a negated class beside other members is not supported");
    if (next_is("\\H")) fail("\\H in a class is not supported");
    if (next_is("\\h")) {
      advance(2);
      side.text += kHexDigits;
    } else {
      side.text += peek() == '\\' ? read_escape() : std::string(advance(1));
    }
  }

  void add_nested(const Sides& nested, Members& side) {
    if (nested.of.size() > 1) fail("an intersection within a class is not supported");
    const bool negated = nested.negated != nested.of[0].negated;
    const bool alone = side.text.empty();
    if (!alone && (negated || side.negated)) fail("a negated class beside other members is not supported");
    side.negated = negated;
    side.text += nested.of[0].text;
  }

  std::string_view source_;
  std::size_t pos_ = 0;
  std::string out_;
  std::size_t atom_ = 0;             // where in out_ what a quantifier repeats begins
  std::vector<std::size_t> groups_;  // where those that are open begin
};

}  // namespace

base::Result<std::string> pcre_of_oniguruma(std::string_view expression) {
  if (expression.size() > kMaxBytes) {
    return base::bad_file(fmt::format("the regular expression is longer than {} bytes", kMaxBytes));
  }
  try {
    return Translation(expression).run();
  } catch (const base::Exception& exception) {
    return exception.error();
  }
}

}  // namespace vitrine::tokenizer
