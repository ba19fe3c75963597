#include "tokenizer/decoder.h"

#include <algorithm>
#include <utility>

namespace vitrine::tokenizer {
namespace {

// Where the text comes out.
class TextEnd : public DecodeStage {
 public:
  void text(std::string_view fragment) override { out += fragment; }
  void end_piece() override {}
  void finish() override {}

  std::string out;
};

}  // namespace

std::string DecodeRules::bytes_of(std::string_view piece) const {
  std::string bytes(piece);
  for (const auto& step : steps_)
    step->apply_to_bytes(bytes);
  return bytes;
}

std::size_t DecodeRules::growth() const {
  std::size_t growth = 1;
  for (const auto& step : steps_)
    growth = std::min(kMaxGrowth + 1, growth * std::min(kMaxGrowth + 1, step->growth()));
  return growth;
}

PieceDecoder::PieceDecoder(const DecodeRules& rules, bool whole) {
  auto end = std::make_unique<TextEnd>();
  out_ = &end->out;
  last_ = std::move(end);
  DecodeStage* next = last_.get();
  for (auto step = rules.steps().rbegin(); step != rules.steps().rend(); ++step) {
    stages_.push_back((*step)->start(*next, whole));
    next = stages_.back().get();
  }
}

std::string PieceDecoder::push(std::string_view piece) {
  DecodeStage& first = stages_.empty() ? *last_ : *stages_.back();
  first.text(piece);
  first.end_piece();
  return std::exchange(*out_, {});
}

std::string PieceDecoder::finish() {
  if (!stages_.empty()) stages_.back()->finish();
  return std::exchange(*out_, {});
}

}  // namespace vitrine::tokenizer
