#include "tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/known_patterns.h"
#include "tokenizer/mask_scanners.h"
#include "tokenizer/script_table.h"

namespace vitrine::tokenizer {
namespace {

struct Part {
  Range range;
  bool is_match = false;
};

// The matches of a pattern and the gaps between them, in order.
// A guess, for how much room to make.
constexpr std::size_t kMeanWordBytes = 4;

class Split : public PreTokenizerStep {
 public:
  Split(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  base::Result<void> apply(AlignedText& text, std::vector<Range>& pieces, bool /*at_start*/) const override {
    std::vector<Range> result;
    std::vector<Range> matches;
    std::vector<Part> parts;
    const std::size_t num_bytes = pieces.empty() ? 0 : pieces.back().end - pieces.front().begin;
    result.reserve(std::max(pieces.size(), num_bytes / kMeanWordBytes));
    for (const Range& piece : pieces) {
      const std::string_view view = std::string_view(text.text()).substr(piece.begin, piece.end - piece.begin);
      matches.clear();
      matches.reserve(view.size() / kMeanWordBytes);
      if (auto done = pattern_->find_all(view, matches); !done) return done;
      if (behavior_ == SplitBehavior::kIsolated) {
        append_isolated(matches, piece, result);
        continue;
      }
      list_parts(matches, piece, parts);
      arrange(parts, result);
    }
    pieces = std::move(result);
    return {};
  }

  Cuts cuts() const override { return behavior_ == SplitBehavior::kIsolated ? pattern_->cuts() : Cuts::kUnknown; }
  const KnownPattern* isolates() const override {
    return behavior_ == SplitBehavior::kIsolated ? pattern_->known() : nullptr;
  }

 private:
  void list_parts(const std::vector<Range>& matches, Range piece, std::vector<Part>& parts) const {
    parts.clear();
    std::uint32_t pos = piece.begin;
    for (const Range& match : matches) {
      const Range range{piece.begin + match.begin, piece.begin + match.end};
      if (range.begin > pos) parts.push_back({{pos, range.begin}, invert_});
      parts.push_back({range, !invert_});
      pos = range.end;
    }
    if (pos < piece.end) parts.push_back({{pos, piece.end}, invert_});
  }

  void arrange(const std::vector<Part>& parts, std::vector<Range>& pieces) const {
    bool previous_is_match = false;
    const std::size_t first = pieces.size();
    for (const Part& part : parts) {
      const bool is_first = pieces.size() == first;
      const bool joins =
          !is_first && ((behavior_ == SplitBehavior::kContiguous && part.is_match == previous_is_match) ||
                        (behavior_ == SplitBehavior::kMergedWithPrevious && part.is_match && !previous_is_match) ||
                        (behavior_ == SplitBehavior::kMergedWithNext && !part.is_match && previous_is_match));
      previous_is_match = part.is_match;
      if (behavior_ == SplitBehavior::kRemoved && part.is_match) continue;
      if (joins) {
        pieces.back().end = part.range.end;
      } else {
        pieces.push_back(part.range);
      }
    }
    const auto is_empty = [](const Range& piece) { return piece.begin == piece.end; };
    pieces.erase(std::remove_if(pieces.begin() + static_cast<std::ptrdiff_t>(first), pieces.end(), is_empty),
                 pieces.end());
  }

  std::unique_ptr<Pattern> pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

// Rewrites every piece; `rewrite` appends the new text of one.
template <typename Rewrite>
void rewrite_pieces(AlignedText& text, std::vector<Range>& pieces, Rewrite rewrite) {
  AlignedText result = AlignedText::empty_like(text);
  for (Range& piece : pieces) {
    const auto begin = static_cast<std::uint32_t>(result.text().size());
    rewrite(piece, result);
    piece = {begin, static_cast<std::uint32_t>(result.text().size())};
  }
  text = std::move(result);
}

class PrefixSpace : public PreTokenizerStep {
 public:
  base::Result<void> apply(AlignedText& text, std::vector<Range>& pieces, bool /*at_start*/) const override {
    rewrite_pieces(text, pieces, [&text](Range piece, AlignedText& result) {
      if (text.text()[piece.begin] != ' ') result.insert(" ", text.source(piece.begin, piece.begin));
      result.copy(text, piece.begin, piece.end);
    });
    return {};
  }
};

class ByteSpelling : public PreTokenizerStep {
 public:
  base::Result<void> apply(AlignedText& text, std::vector<Range>& pieces, bool /*at_start*/) const override {
    rewrite_pieces(text, pieces, [&text](Range piece, AlignedText& result) {
      for (std::size_t i = piece.begin; i < piece.end; ++i)
        result.insert(spelling_of_byte(static_cast<unsigned char>(text.text()[i])), text.source(i, i + 1));
    });
    return {};
  }
};

// Cuts every piece by `list_cuts`, which appends where pieces begin; what stands before the first is dropped.
template <typename ListCuts>
void cut_pieces(const AlignedText& text, std::vector<Range>& pieces, ListCuts list_cuts) {
  std::vector<Range> result;
  std::vector<std::uint32_t> cuts;
  for (const Range& piece : pieces) {
    cuts.clear();
    list_cuts(std::string_view(text.text()).substr(piece.begin, piece.end - piece.begin), cuts);
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      const std::uint32_t end = i + 1 < cuts.size() ? piece.begin + cuts[i + 1] : piece.end;
      result.push_back({piece.begin + cuts[i], end});
    }
  }
  pieces = std::move(result);
}

class FixedLength : public PreTokenizerStep {
 public:
  explicit FixedLength(std::size_t num_chars) : num_chars_(num_chars) {}

  base::Result<void> apply(AlignedText& text, std::vector<Range>& pieces, bool /*at_start*/) const override {
    cut_pieces(text, pieces, [this](std::string_view piece, std::vector<std::uint32_t>& cuts) {
      std::size_t index = 0;
      for (std::size_t i = 0; i < piece.size(); i += base::utf8_length(piece[i]), ++index) {
        if (index % num_chars_ == 0) cuts.push_back(static_cast<std::uint32_t>(i));
      }
    });
    return {};
  }

 private:
  std::size_t num_chars_;
};

// 0 for none.
std::uint8_t script_of(char32_t code_point) {
  const auto runs = std::span(kScriptRuns, kNumScriptRuns);
  const auto after = std::ranges::upper_bound(runs, code_point, {}, &ScriptRun::first);
  return after == runs.begin() ? std::uint8_t{0} : (after - 1)->script;
}

class ScriptSplit : public PreTokenizerStep {
 public:
  base::Result<void> apply(AlignedText& text, std::vector<Range>& pieces, bool /*at_start*/) const override {
    cut_pieces(text, pieces, [](std::string_view piece, std::vector<std::uint32_t>& cuts) {
      std::uint8_t last = 0;
      std::size_t length = 0;
      for (std::size_t i = 0; i < piece.size(); i += length) {
        const std::uint8_t script = script_of(base::decode_valid_utf8(piece.data() + i, length));
        if (script == 0 || script == last) continue;
        cuts.push_back(static_cast<std::uint32_t>(i));
        last = script;
      }
    });
    return {};
  }
};

class Metaspace : public PreTokenizerStep {
 public:
  Metaspace(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(std::move(replacement)),
        scheme_(scheme),
        splitter_(split ? make_split(make_literal_pattern(replacement_), SplitBehavior::kMergedWithNext, false)
                        : nullptr) {}

  base::Result<void> apply(AlignedText& text, std::vector<Range>& pieces, bool at_start) const override {
    const bool first_only = scheme_ == PrependScheme::kFirst;
    bool is_first = at_start;
    rewrite_pieces(text, pieces, [&](Range piece, AlignedText& result) {
      const std::string_view view = std::string_view(text.text()).substr(piece.begin, piece.end - piece.begin);
      const bool has_space = view.starts_with(' ') || view.starts_with(replacement_);
      const bool prepends = scheme_ == PrependScheme::kAlways || (first_only && is_first);
      if (prepends && !has_space) result.insert(replacement_, text.source(piece.begin, piece.begin));
      replace_spaces(text, piece, result);
      is_first = false;
    });
    return splitter_ == nullptr ? base::Result<void>() : splitter_->apply(text, pieces, at_start);
  }

 private:
  void replace_spaces(const AlignedText& text, Range piece, AlignedText& result) const {
    std::size_t start = piece.begin;
    for (std::size_t i = piece.begin; i < piece.end; ++i) {
      if (text.text()[i] != ' ') continue;
      result.copy(text, start, i);
      result.insert(replacement_, text.source(i, i + 1));
      start = i + 1;
    }
    result.copy(text, start, piece.end);
  }

  std::string replacement_;
  PrependScheme scheme_;
  std::unique_ptr<PreTokenizerStep> splitter_;
};

}  // namespace

base::Result<void> PreTokenizer::apply(AlignedText& text, std::vector<Range>& pieces, bool at_start) const {
  for (const auto& step : steps_) {
    if (auto done = step->apply(text, pieces, at_start); !done) return done;
    if (text.is_cut()) return too_long();
  }
  return {};
}

bool PreTokenizer::cuts_between_words() const {
  const auto cuts = [](Cuts wanted) { return [wanted](const auto& step) { return step->cuts() == wanted; }; };
  return std::ranges::any_of(steps_, cuts(Cuts::kWords)) && std::ranges::none_of(steps_, cuts(Cuts::kUnknown));
}

std::vector<ScanStep> PreTokenizer::scan_steps() const {
  if (!cuts_between_words()) return {};
  std::vector<const KnownPattern*> known;
  for (const auto& step : steps_)
    known.push_back(step->isolates());
  if (std::ranges::find(known, nullptr) != known.end()) return {};
  if (known.size() == 2 && known[0]->name == "number" && known[1]->name == "gpt2") return {{scan_number_gpt2, true}};
  std::vector<ScanStep> steps;
  for (const KnownPattern* pattern : known)
    steps.push_back({pattern->scan, pattern->covers_all});
  return steps;
}

std::unique_ptr<PreTokenizerStep> make_split(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert) {
  return std::make_unique<Split>(std::move(pattern), behavior, invert);
}
std::unique_ptr<PreTokenizerStep> make_prefix_space() {
  return std::make_unique<PrefixSpace>();
}
std::unique_ptr<PreTokenizerStep> make_byte_spelling() {
  return std::make_unique<ByteSpelling>();
}
std::unique_ptr<PreTokenizerStep> make_fixed_length(std::size_t num_chars) {
  return std::make_unique<FixedLength>(num_chars);
}
std::unique_ptr<PreTokenizerStep> make_script_split() {
  return std::make_unique<ScriptSplit>();
}
std::unique_ptr<PreTokenizerStep> make_metaspace(std::string replacement, PrependScheme scheme, bool split) {
  return std::make_unique<Metaspace>(std::move(replacement), scheme, split);
}

}  // namespace vitrine::tokenizer
