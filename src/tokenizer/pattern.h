#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vitrine::tokenizer {

// Byte positions begin..end of a text.
struct Range {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

// Appends a piece's matches, which are counted from its beginning, and the gaps between them, each a piece, without
// what is empty.
void append_isolated(const std::vector<Range>& matches, Range piece, std::vector<Range>& pieces);

// What a pattern does at the places of is_certain_cut (known_patterns.h).
enum class Cuts {
  kUnknown,
  kNothing,  // no match has such a place inside, nor depends on what is beyond one
  kWords,    // and every such place ends a match
};

// A linear scanner written by hand: a row of known_patterns().
using ScanFunction = void (*)(std::string_view text, std::vector<Range>& matches);
struct KnownPattern;
// A step of cutting a text: the matches of a scanner are pieces, and what lies between them, which is nothing with
// covers_all.
struct ScanStep {
  ScanFunction scan = nullptr;
  bool covers_all = false;
};

// What a tokenizer file splits or replaces by: a regular expression or a literal string. Immutable; any thread.
class Pattern {
 public:
  virtual ~Pattern() = default;

  // Appends every match in valid UTF-8 `text`, from left to right, none overlapping. One may be empty, as of an
  // expression that looks ahead only; not where another match ends. Fails where a limit on the work of matching is hit.
  virtual base::Result<void> find_all(std::string_view text, std::vector<Range>& matches) const = 0;
  virtual Cuts cuts() const { return Cuts::kUnknown; }
  // The row of known_patterns() that it is; nullptr for others.
  virtual const KnownPattern* known() const { return nullptr; }
};

std::unique_ptr<Pattern> make_scan_pattern(const KnownPattern& known);

// A literal string; empty `needle` matches nothing.
std::unique_ptr<Pattern> make_literal_pattern(std::string needle);

// A regular expression: by a hand-written scanner where the expression is one of known_patterns(), else by PCRE2 with
// limits on its work, ^ and $ matching at every line. Fails if it does not compile.
base::Result<std::unique_ptr<Pattern>> make_regex_pattern(std::string_view expression);

// The same by PCRE2 always.
base::Result<std::unique_ptr<Pattern>> make_pcre_pattern(std::string_view expression);

}  // namespace vitrine::tokenizer
