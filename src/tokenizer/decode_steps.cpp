#include "tokenizer/decode_steps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/decode_stage.h"

namespace vitrine::tokenizer {
namespace {

template <typename Step>
class SentencePieceStage : public PieceStage<Step> {
 public:
  using PieceStage<Step>::PieceStage;

 protected:
  void take(std::string piece) override {
    using Start = SentencePieceSpelling::Start;
    const SentencePieceSpelling& spelling = this->step_.spelling;
    if (piece == spelling.unknown) {
      is_start_ = is_start_ && spelling.surface.empty();
      return this->give(spelling.surface);
    }
    const bool takes = is_start_ && spelling.start != Start::kKept && piece.starts_with(spelling.mark);
    if (takes) piece.erase(0, spelling.mark.size());
    is_start_ = is_start_ && piece.empty() && !(takes && spelling.start == Start::kTakesOne);
    this->give(replaced(piece, spelling.mark, " "));
  }

 private:
  bool is_start_ = true;  // nothing has been given out
};

class SentencePieceDecoder : public StepWith<SentencePieceDecoder, SentencePieceStage> {
 public:
  explicit SentencePieceDecoder(SentencePieceSpelling of) : spelling(std::move(of)) {}
  void apply_to_bytes(std::string& piece) const override { piece = replaced(piece, spelling.mark, " "); }

  const SentencePieceSpelling spelling;
};

class PatternDecoder : public StepWith<PatternDecoder, RewriteStage> {
 public:
  PatternDecoder(std::unique_ptr<Pattern> pattern, std::string to) : pattern_(std::move(pattern)), to_(std::move(to)) {}
  void apply_to_bytes(std::string& piece) const override {
    if (base::is_valid_utf8(piece)) piece = rewritten(std::move(piece));
  }

  // A match may be empty: one stands before every byte.
  std::size_t growth() const override { return to_.size() + 1; }

  // A piece on which a limit of matching is hit stays as it is.
  std::string rewritten(std::string piece) const {
    std::vector<Range> matches;
    if (piece.empty() || !pattern_->find_all(piece, matches)) return piece;
    std::string result;
    std::size_t pos = 0;
    for (const Range& match : matches) {
      result.append(piece, pos, match.begin - pos);
      result += to_;
      pos = match.end;
    }
    return result.append(piece, pos);
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string to_;
};

// What may be the beginning of a match waits.
template <typename Step>
class ReplaceStage : public StageOf<Step> {
 public:
  using StageOf<Step>::StageOf;
  void text(std::string_view fragment) override {
    held_ += fragment;
    const std::string& from = this->step_.from;
    std::string out;
    std::size_t start = 0;
    for (std::size_t found; (found = held_.find(from, start)) != std::string::npos; start = found + from.size()) {
      out.append(held_, start, found - start);
      out += this->step_.to;
    }
    std::size_t kept = std::min(held_.size() - start, from.size() - 1);
    while (kept > 0 && !from.starts_with(std::string_view(held_).substr(held_.size() - kept)))
      --kept;
    out.append(held_, start, held_.size() - kept - start);
    held_.erase(0, held_.size() - kept);
    this->next_.text(out);
  }
  void end_piece() override {
    if (!held_.empty()) this->next_.text(std::exchange(held_, {}));
    this->next_.end_piece();
  }

 private:
  std::string held_;
};

class ReplaceDecoder : public StepWith<ReplaceDecoder, ReplaceStage> {
 public:
  ReplaceDecoder(std::string old_text, std::string new_text) : from(std::move(old_text)), to(std::move(new_text)) {}
  void apply_to_bytes(std::string& piece) const override { piece = replaced(piece, from, to); }
  std::size_t growth() const override { return 1 + to.size() / from.size(); }

  const std::string from, to;
};

template <typename Step>
class FuseStage : public StageOf<Step> {
 public:
  using StageOf<Step>::StageOf;
  void end_piece() override {}
  void finish() override {
    this->next_.end_piece();
    this->next_.finish();
  }
};

class FuseDecoder : public StepWith<FuseDecoder, FuseStage> {};

// The units at the end of a piece wait, as many as may be stripped.
template <typename Step>
class StripStage : public StageOf<Step> {
 public:
  StripStage(const Step& step, DecodeStage& next, bool whole)
      : StageOf<Step>(step, next, whole), to_strip_(step.start_count) {}

  void text(std::string_view fragment) override {
    const std::string& unit = this->step_.content;
    for (; to_strip_ > 0 && fragment.starts_with(unit); --to_strip_)
      fragment.remove_prefix(unit.size());
    if (fragment.empty()) return;
    to_strip_ = 0;
    std::string_view body = fragment;
    std::size_t num_units = 0;
    for (; body.ends_with(unit); ++num_units)
      body.remove_suffix(unit.size());
    if (!body.empty()) give_units(std::exchange(num_held_, 0));
    this->next_.text(body);
    num_held_ += num_units;
    if (num_held_ <= this->step_.stop_count) return;
    give_units(num_held_ - this->step_.stop_count);
    num_held_ = this->step_.stop_count;
  }
  void end_piece() override {
    to_strip_ = this->step_.start_count;
    num_held_ = 0;
    this->next_.end_piece();
  }

 private:
  void give_units(std::size_t count) {
    for (; count > 0; --count)
      this->next_.text(this->step_.content);
  }

  std::size_t to_strip_;
  std::size_t num_held_ = 0;
};

class StripDecoder : public StepWith<StripDecoder, StripStage> {
 public:
  StripDecoder(std::string unit, std::size_t start, std::size_t stop)
      : content(std::move(unit)), start_count(start), stop_count(stop) {}

  const std::string content;
  const std::size_t start_count, stop_count;
};

template <typename Step>
class MetaspaceStage : public StageOf<Step> {
 public:
  using StageOf<Step>::StageOf;
  void text(std::string_view fragment) override {
    const bool drops = is_first_ && this->step_.drops_first;
    this->next_.text(replaced(fragment, this->step_.mark, drops ? "" : " "));
  }
  void end_piece() override {
    is_first_ = false;
    this->next_.end_piece();
  }

 private:
  bool is_first_ = true;
};

class MetaspaceDecoder : public StepWith<MetaspaceDecoder, MetaspaceStage> {
 public:
  MetaspaceDecoder(std::string space_mark, bool drops) : mark(std::move(space_mark)), drops_first(drops) {}
  void apply_to_bytes(std::string& piece) const override { piece = replaced(piece, mark, " "); }

  const std::string mark;
  const bool drops_first;
};

// The endings are those that the decoders of Hugging Face's tokenizers clean up, piece by piece.
std::string cleaned_up(std::string text) {
  static constexpr std::pair<std::string_view, std::string_view> kEndings[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kEndings)
    text = replaced(text, from, to);
  return text;
}

template <typename Step>
class WordPieceStage : public PieceStage<Step> {
 public:
  using PieceStage<Step>::PieceStage;

 protected:
  void take(std::string piece) override {
    const std::string& prefix = this->step_.prefix;
    if (!is_first_ && piece.starts_with(prefix)) {
      piece.erase(0, prefix.size());
    } else if (!is_first_) {
      piece.insert(0, 1, ' ');
    }
    is_first_ = false;
    this->give(this->step_.cleans_up ? cleaned_up(std::move(piece)) : piece);
  }

 private:
  bool is_first_ = true;
};

class WordPieceDecoder : public StepWith<WordPieceDecoder, WordPieceStage> {
 public:
  WordPieceDecoder(std::string continuation, bool cleans) : prefix(std::move(continuation)), cleans_up(cleans) {}

  const std::string prefix;
  const bool cleans_up;
};

// A piece waits from its first suffix on until another one follows.
template <typename Step>
class SuffixStage : public PieceStage<Step> {
 public:
  using PieceStage<Step>::PieceStage;
  void finish() override {
    end_held("");
    this->next_.finish();
  }

 protected:
  void take(std::string piece) override {
    end_held(" ");
    const std::size_t certain = std::min(piece.find(this->step_.suffix), piece.size());
    this->next_.text(std::string_view(piece).substr(0, certain));
    held_ = piece.substr(certain);
  }

 private:
  void end_held(std::string_view space) {
    if (!held_) return;
    this->give(replaced(*held_, this->step_.suffix, space));
    held_.reset();
  }

  std::optional<std::string> held_;
};

class SuffixDecoder : public StepWith<SuffixDecoder, SuffixStage> {
 public:
  explicit SuffixDecoder(std::string end_of_word) : suffix(std::move(end_of_word)) {}
  void apply_to_bytes(std::string& piece) const override { piece = replaced(piece, suffix, " "); }

  const std::string suffix;
};

template <typename Step>
class CtcStage : public PieceStage<Step> {
 public:
  using PieceStage<Step>::PieceStage;

 protected:
  void take(std::string piece) override {
    if (previous_ == piece) return;
    std::string text = replaced(piece, this->step_.pad, "");
    if (this->step_.cleans_up) text = replaced(cleaned_up(std::move(text)), this->step_.delimiter, " ");
    previous_ = std::move(piece);
    if (!text.empty()) this->give(text);
  }

 private:
  std::optional<std::string> previous_;
};

class CtcDecoder : public StepWith<CtcDecoder, CtcStage> {
 public:
  CtcDecoder(std::string pad_token, std::string delimiter_token, bool cleans)
      : pad(std::move(pad_token)), delimiter(std::move(delimiter_token)), cleans_up(cleans) {}
  void apply_to_bytes(std::string& piece) const override {
    piece = replaced(piece, pad, "");
    if (cleans_up) piece = replaced(piece, delimiter, " ");
  }

  const std::string pad, delimiter;
  const bool cleans_up;
};

template <typename Step>
class JoinStage : public PieceStage<Step> {
 public:
  using PieceStage<Step>::PieceStage;

 protected:
  void take(std::string piece) override {
    if (!is_first_) this->next_.text(this->step_.separator);
    is_first_ = false;
    this->give(piece);
  }

 private:
  bool is_first_ = true;
};

class JoinDecoder : public StepWith<JoinDecoder, JoinStage> {
 public:
  explicit JoinDecoder(std::string between) : separator(std::move(between)) {}

  const std::string separator;
};

}  // namespace

std::unique_ptr<DecodeStep> make_replace_decoder(std::string from, std::string to) {
  if (from.empty()) return make_pattern_decoder(make_literal_pattern(""), std::move(to));
  return std::make_unique<ReplaceDecoder>(std::move(from), std::move(to));
}
std::unique_ptr<DecodeStep> make_sentencepiece_decoder(SentencePieceSpelling spelling) {
  return std::make_unique<SentencePieceDecoder>(std::move(spelling));
}
std::unique_ptr<DecodeStep> make_pattern_decoder(std::unique_ptr<Pattern> pattern, std::string to) {
  return std::make_unique<PatternDecoder>(std::move(pattern), std::move(to));
}
std::unique_ptr<DecodeStep> make_fuse_decoder() {
  return std::make_unique<FuseDecoder>();
}
std::unique_ptr<DecodeStep> make_strip_decoder(std::string content, std::size_t start, std::size_t stop) {
  return std::make_unique<StripDecoder>(std::move(content), start, stop);
}
std::unique_ptr<DecodeStep> make_metaspace_decoder(std::string mark, bool drops_first) {
  return std::make_unique<MetaspaceDecoder>(std::move(mark), drops_first);
}
std::unique_ptr<DecodeStep> make_wordpiece_decoder(std::string prefix, bool cleans_up) {
  return std::make_unique<WordPieceDecoder>(std::move(prefix), cleans_up);
}
std::unique_ptr<DecodeStep> make_suffix_decoder(std::string suffix) {
  return std::make_unique<SuffixDecoder>(std::move(suffix));
}
std::unique_ptr<DecodeStep> make_ctc_decoder(std::string pad, std::string delimiter, bool cleans_up) {
  return std::make_unique<CtcDecoder>(std::move(pad), std::move(delimiter), cleans_up);
}
std::unique_ptr<DecodeStep> make_join_decoder(std::string separator) {
  return std::make_unique<JoinDecoder>(std::move(separator));
}

}  // namespace vitrine::tokenizer
