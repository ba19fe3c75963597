#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tokenizer/decoder.h"

// What steps of decoding are put together from.
namespace vitrine::tokenizer {

// A stage of the step `Step`, which it refers to.
template <typename Step>
class StageOf : public DecodeStage {
 public:
  StageOf(const Step& step, DecodeStage& next, bool /*whole*/) : step_(step), next_(next) {}
  void text(std::string_view fragment) override { next_.text(fragment); }
  void end_piece() override { next_.end_piece(); }
  void finish() override { next_.finish(); }

 protected:
  void give(std::string_view piece) {
    next_.text(piece);
    next_.end_piece();
  }

  const Step& step_;
  DecodeStage& next_;
};

// A stage that waits for the end of every piece.
template <typename Step>
class PieceStage : public StageOf<Step> {
 public:
  using StageOf<Step>::StageOf;
  void text(std::string_view fragment) override { piece_ += fragment; }
  void end_piece() override { take(std::exchange(piece_, {})); }

 protected:
  virtual void take(std::string piece) = 0;

 private:
  std::string piece_;
};

// A step whose stage is `Stage`.
template <typename Step, template <typename> class Stage>
class StepWith : public DecodeStep {
 public:
  std::unique_ptr<DecodeStage> start(DecodeStage& next, bool whole) const override {
    return std::make_unique<Stage<Step>>(static_cast<const Step&>(*this), next, whole);
  }
};

template <typename Step>
class RewriteStage : public PieceStage<Step> {
 public:
  using PieceStage<Step>::PieceStage;

 protected:
  void take(std::string piece) override { this->give(this->step_.rewritten(std::move(piece))); }
};

// An empty `from` is found nowhere.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  std::size_t start = 0;
  for (std::size_t found; !from.empty() && (found = text.find(from, start)) != std::string_view::npos;) {
    result.append(text, start, found - start);
    result += to;
    start = found + from.size();
  }
  result.append(text, start);
  return result;
}

}  // namespace vitrine::tokenizer
