#include "tokenizer/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/known_patterns.h"

namespace vitrine::tokenizer {
namespace {

class ScanPattern : public Pattern {
 public:
  explicit ScanPattern(const KnownPattern& known) : known_(known) {}
  base::Result<void> find_all(std::string_view text, std::vector<Range>& matches) const override {
    known_.scan(text, matches);
    return {};
  }
  Cuts cuts() const override { return known_.cuts; }
  const KnownPattern* known() const override { return &known_; }

 private:
  const KnownPattern& known_;
};

class LiteralPattern : public Pattern {
 public:
  explicit LiteralPattern(std::string needle) : needle_(std::move(needle)) {}
  base::Result<void> find_all(std::string_view text, std::vector<Range>& matches) const override {
    if (needle_.empty()) return {};
    std::size_t pos = 0;
    while ((pos = text.find(needle_, pos)) != std::string_view::npos) {
      matches.push_back({static_cast<std::uint32_t>(pos), static_cast<std::uint32_t>(pos + needle_.size())});
      pos += needle_.size();
    }
    return {};
  }

 private:
  std::string needle_;
};

template <auto kFree>
struct FreeWith {
  template <typename T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};
using Code = std::unique_ptr<pcre2_code, FreeWith<pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, FreeWith<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, FreeWith<pcre2_match_context_free>>;

// Enough for any sane pattern on a word or a line, and used up by a runaway one in tens of milliseconds.
constexpr std::uint32_t kMatchLimit = 1'000'000;
constexpr std::uint32_t kDepthLimit = 20'000;
constexpr std::uint32_t kHeapLimitKib = 32 * 1024;

std::string pcre_message(int code) {
  std::array<unsigned char, 160> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

class PcrePattern : public Pattern {
 public:
  PcrePattern(Code code, std::string expression) : code_(std::move(code)), expression_(std::move(expression)) {}

  base::Result<void> find_all(std::string_view text, std::vector<Range>& matches) const override {
    const MatchData data(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
    const MatchContext context(pcre2_match_context_create(nullptr));
    pcre2_set_match_limit(context.get(), kMatchLimit);
    pcre2_set_depth_limit(context.get(), kDepthLimit);
    pcre2_set_heap_limit(context.get(), kHeapLimitKib);
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    std::size_t pos = 0;
    std::size_t last_end = text.size() + 1;  // of the match before
    while (pos <= text.size() && !text.empty()) {
      // The text is known to be valid UTF-8.
      const int status =
          pcre2_match(code_.get(), subject, text.size(), pos, PCRE2_NO_UTF_CHECK, data.get(), context.get());
      if (status == PCRE2_ERROR_NOMATCH) return {};
      if (status < 0) {
        return base::usage_error(fmt::format("the splitter pattern \"{}\" gave up on this text: {}",
                                             std::string_view(expression_).substr(0, 80), pcre_message(status)));
      }
      const std::size_t* bounds = pcre2_get_ovector_pointer(data.get());
      // \K within a look-around moves the beginning over the end, or before where the search began.
      const std::size_t begin = std::max(bounds[0], pos);
      const std::size_t end = std::max(bounds[1], begin);
      const bool stands_still = begin == end && end == last_end;
      if (stands_still) {
        pos = end < text.size() ? end + base::utf8_length(text[end]) : text.size() + 1;
        continue;
      }
      matches.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
      pos = last_end = end;
    }
    return {};
  }

 private:
  Code code_;
  std::string expression_;
};

}  // namespace

void append_isolated(const std::vector<Range>& matches, Range piece, std::vector<Range>& pieces) {
  std::uint32_t pos = piece.begin;
  for (const Range& match : matches) {
    const Range range{piece.begin + match.begin, piece.begin + match.end};
    if (range.begin > pos) pieces.push_back({pos, range.begin});
    if (range.begin < range.end) pieces.push_back(range);
    pos = range.end;
  }
  if (pos < piece.end) pieces.push_back({pos, piece.end});
}

std::unique_ptr<Pattern> make_scan_pattern(const KnownPattern& known) {
  return std::make_unique<ScanPattern>(known);
}

std::unique_ptr<Pattern> make_literal_pattern(std::string needle) {
  return std::make_unique<LiteralPattern>(std::move(needle));
}

base::Result<std::unique_ptr<Pattern>> make_pcre_pattern(std::string_view expression) {
  int error = 0;
  std::size_t error_offset = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                          PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &error_offset,
                          nullptr));
  if (!code) {
    return base::bad_file(
        fmt::format("the regular expression does not compile at byte {}: {}", error_offset, pcre_message(error)));
  }
  return std::unique_ptr<Pattern>(std::make_unique<PcrePattern>(std::move(code), std::string(expression)));
}

base::Result<std::unique_ptr<Pattern>> make_regex_pattern(std::string_view expression) {
  for (const KnownPattern& known : known_patterns()) {
    if (known.expression == expression) return make_scan_pattern(known);
  }
  return make_pcre_pattern(expression);
}

}  // namespace vitrine::tokenizer
