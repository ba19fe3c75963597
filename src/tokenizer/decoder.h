#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::tokenizer {

// One step of decoding at work on one answer. It takes the pieces of the step before it, each in fragments, and gives
// its own to the next. Fragments hold whole characters, but for those of the vocabulary's own pieces.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;
  virtual void text(std::string_view fragment) = 0;  // more of the current piece
  virtual void end_piece() = 0;
  virtual void finish() = 0;  // no more pieces
};

// One step of turning pieces of the vocabulary into text. Immutable; any thread.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;

  // The step at work, giving what it makes to `next`, which must outlive it. `whole`: the pieces are those of a
  // finished answer, so that nothing need be given out early.
  virtual std::unique_ptr<DecodeStage> start(DecodeStage& next, bool whole) const = 0;

  // Whether the text of a finished answer is the bytes of its pieces joined, with a U+FFFD for every maximal subpart
  // that is not UTF-8.
  virtual bool joins_bytes() const { return false; }

  // Replaces what a piece is by the bytes that it stands for wherever it stands.
  virtual void apply_to_bytes(std::string& /*piece*/) const {}

  // A bound on how many bytes it makes of one, where that can be many.
  virtual std::size_t growth() const { return 1; }
};

// How the pieces of a vocabulary become bytes, and the bytes text: steps, one after another. Without steps the pieces
// are the text.
class DecodeRules {
 public:
  void add(std::unique_ptr<DecodeStep> step) { steps_.push_back(std::move(step)); }
  const std::vector<std::unique_ptr<DecodeStep>>& steps() const { return steps_; }

  // DecodeStep::joins_bytes of all steps.
  bool joins_bytes() const { return steps_.size() == 1 && steps_[0]->joins_bytes(); }

  // The bytes that a piece stands for by itself; not UTF-8 where it holds a part of a character.
  std::string bytes_of(std::string_view piece) const;

  // The steps' growth, one after another, or kMaxGrowth + 1 where that is less.
  static constexpr std::size_t kMaxGrowth = 4096;
  std::size_t growth() const;

 private:
  std::vector<std::unique_ptr<DecodeStep>> steps_;
};

// Turns the pieces of one answer into text, piece by piece. Never gives out half a character, nor what a later piece
// may still change: that waits. With `whole` a run of byte tokens waits for its end, which is what decoding a finished
// list takes where a run that is not UTF-8 counts as broken from its start: a stream has given out its first characters
// by then. The rules must outlive it.
class PieceDecoder {
 public:
  PieceDecoder(const DecodeRules& rules, bool whole);

  std::string push(std::string_view piece);
  std::string finish();

 private:
  std::unique_ptr<DecodeStage> last_;
  std::vector<std::unique_ptr<DecodeStage>> stages_;  // the last one first
  std::string* out_;                                  // of last_
};

}  // namespace vitrine::tokenizer
