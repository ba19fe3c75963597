#include "tokenizer/unigram_model.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace vitrine::tokenizer {
namespace {

// How far below the worst piece an unknown character scores (SentencePiece, unigram_model.cc).
constexpr double kUnknownPenalty = 10.0;

std::uint64_t edge(std::uint32_t node, char byte) {
  return (std::uint64_t{node} << 8) | static_cast<unsigned char>(byte);
}

}  // namespace

UnigramModel::UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores, const UnknownCharacters& unknown)
    : scores_(std::move(scores)), unknown_(unknown) {
  double lowest = 0;
  bool is_first = true;
  for (const double score : scores_) {
    if (score == kNever) continue;
    lowest = is_first ? score : std::min(lowest, score);
    is_first = false;
  }
  unknown_score_ = lowest - kUnknownPenalty;
  for (TokenId id = 0; static_cast<std::size_t>(id) < scores_.size(); ++id) {
    if (scores_[static_cast<std::size_t>(id)] == kNever) continue;
    std::uint32_t node = 0;
    for (const char byte : vocabulary.piece(id)) {
      const auto fresh = static_cast<std::uint32_t>(id_at_node_.size());
      node = edges_.insert(edge(node, byte), fresh);
      if (node == fresh) id_at_node_.push_back(-1);
    }
    if (node != 0) id_at_node_[node] = id;
  }
}

void UnigramModel::try_pieces_at(std::string_view text, std::size_t start, std::vector<Step>& steps) const {
  const std::size_t character = base::utf8_length(text[start]);
  const auto offer = [&](std::size_t end, TokenId id, double score) {
    Step& step = steps[end];
    if (step.reached && score <= step.score) return;
    step = {score, {id, static_cast<std::uint32_t>(end - start)}, true};
  };
  bool covers_character = false;
  std::uint32_t node = 0;
  for (std::size_t i = start; i < text.size(); ++i) {
    const std::uint32_t* next = edges_.find(edge(node, text[i]));
    if (next == nullptr) break;
    node = *next;
    const TokenId id = id_at_node_[node];
    if (id < 0) continue;
    covers_character |= i + 1 - start == character;
    offer(i + 1, id, steps[start].score + scores_[static_cast<std::size_t>(id)]);
  }
  if (!covers_character) offer(start + character, -1, steps[start].score + unknown_score_);
}

base::Result<void> UnigramModel::encode(std::string_view piece, std::vector<Symbol>& scratch,
                                        std::vector<Symbol>& out) const {
  std::vector<Step> steps(piece.size() + 1);
  steps[0].reached = true;
  for (std::size_t start = 0; start < piece.size(); start += base::utf8_length(piece[start])) {
    if (steps[start].reached) try_pieces_at(piece, start, steps);
  }
  scratch.clear();
  for (std::size_t end = piece.size(); end > 0; end -= scratch.back().length)
    scratch.push_back(steps[end].last);
  std::size_t start = 0;
  for (auto symbol = scratch.rbegin(); symbol != scratch.rend();) {
    std::uint32_t length = symbol->length;
    const TokenId id = symbol->id;
    ++symbol;
    while (id < 0 && symbol != scratch.rend() && symbol->id < 0)
      length += (symbol++)->length;
    if (id >= 0) {
      out.push_back({id, length});
    } else if (auto done = unknown_.append(piece.substr(start, length), out.size(), out); !done) {
      return done;
    }
    start += length;
  }
  return {};
}

}  // namespace vitrine::tokenizer
