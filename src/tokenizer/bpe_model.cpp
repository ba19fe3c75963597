#include "tokenizer/bpe_model.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"

namespace vitrine::tokenizer {
namespace {

// Merging so much costs about as much more than matching as it costs to build a matcher of a large vocabulary.
constexpr std::size_t kBytesThatPay = std::size_t{320} << 10;
// What is expected counts once so much has been merged.
constexpr std::size_t kBytesThatTell = std::size_t{32} << 10;
// Encoding so much without knowing the borders costs about as much more as it costs to find them.
constexpr std::size_t kDivisibleBytesThatPay = std::size_t{96} << 10;

ByteIds find_byte_symbols(const Vocabulary& vocabulary) {
  ByteIds ids{};
  for (unsigned byte = 0; byte < ids.size(); ++byte)
    ids[byte] = vocabulary.find(spelling_of_byte(static_cast<unsigned char>(byte))).value_or(-1);
  return ids;
}

FlatMap<TokenId> find_characters(const Vocabulary& vocabulary) {
  FlatMap<TokenId> characters;
  for (TokenId id = 0; static_cast<std::size_t>(id) < vocabulary.size(); ++id) {
    const std::string_view piece = vocabulary.piece(id);
    if (piece.empty() || piece.size() > 4 || piece.size() != base::utf8_length(piece[0])) continue;
    const base::CodePoint code_point = base::decode_utf8(piece);
    if (code_point.valid) characters.insert(code_point.value, id);
  }
  return characters;
}

}  // namespace

BpeModel::BpeModel(const Vocabulary& vocabulary, MergeTable merges, const BpeSettings& settings)
    : vocabulary_(vocabulary), merges_(std::move(merges)), settings_(settings), unknown_(vocabulary, settings.unknown) {
  if (settings.byte_level) {
    byte_ids_ = find_byte_symbols(vocabulary);
  } else {
    characters_ = find_characters(vocabulary);
  }
}

void BpeModel::set_joined_to_space(FlatMap<char> joined) {
  // An unknown U+2581 becomes part of an unknown token that reaches across it.
  if (vocabulary_.find(kSpaceMark)) joined_to_space_ = std::move(joined);
}

bool BpeModel::may_cut_before_space(char32_t previous) const {
  return cuts_before_spaces() && !joined_to_space_->contains(previous);
}

// nullptr: to be merged.
const BpeMatcher* BpeModel::matcher_for(std::string_view piece) const {
  if (!settings_.byte_level || piece.size() > BpeMatcher::kMaxPieceBytes) return nullptr;
  if (const BpeMatcher* matcher = matcher_.load(std::memory_order_acquire)) return matcher;
  if (building_.load(std::memory_order_relaxed)) return nullptr;
  if (merged_bytes_.fetch_add(piece.size(), std::memory_order_relaxed) + piece.size() < kBytesThatPay) return nullptr;
  return build_matcher();
}

void BpeModel::expect(std::size_t num_bytes) const {
  if (!settings_.byte_level || building_.load(std::memory_order_relaxed)) return;
  const std::size_t num_merged = merged_bytes_.load(std::memory_order_relaxed);
  if (num_merged >= kBytesThatTell && num_merged + num_bytes >= kBytesThatPay) build_matcher();
}

SureBorders* BpeModel::borders(std::size_t num_met, std::size_t num_to_come) const {
  if (!settings_.byte_level) return nullptr;
  const std::size_t num_bytes = divisible_bytes_.fetch_add(num_met, std::memory_order_relaxed) + num_met;
  if (num_bytes + num_to_come < kDivisibleBytesThatPay) return nullptr;
  if (num_bytes < kDivisibleBytesThatPay) divisible_bytes_.fetch_add(kDivisibleBytesThatPay, std::memory_order_relaxed);
  std::call_once(borders_once_, [this] { borders_ = SureBorders::build(vocabulary_, byte_ids_); });
  return borders_.get();
}

// By one thread; nullptr for the others.
const BpeMatcher* BpeModel::build_matcher() const {
  if (building_.exchange(true)) return nullptr;
  built_ = BpeMatcher::build({vocabulary_, merges_, byte_ids_, settings_.ignore_merges});
  matcher_.store(built_.get(), std::memory_order_release);
  return built_.get();
}

base::Result<void> BpeModel::encode(std::string_view piece, std::vector<Symbol>& scratch,
                                    std::vector<Symbol>& out) const {
  const BpeMatcher* matcher = matcher_for(piece);
  if (matcher != nullptr && matcher->encode(piece, scratch, out)) return {};
  if (settings_.ignore_merges && piece.size() <= vocabulary_.max_piece_bytes()) {
    const auto whole = vocabulary_.find(settings_.byte_level ? spelling_of_bytes(piece) : std::string(piece));
    if (whole) {
      out.push_back({*whole, static_cast<std::uint32_t>(piece.size())});
      return {};
    }
  }
  return merge(piece, scratch, out);
}

base::Result<void> BpeModel::encode_part(std::string_view part, std::vector<Symbol>& scratch,
                                         std::vector<Symbol>& out) const {
  const BpeMatcher* matcher = matcher_for(part);
  if (matcher != nullptr && matcher->encode_part(part, scratch, out)) return {};
  return merge(part, scratch, out);
}

base::Result<void> BpeModel::merge(std::string_view piece, std::vector<Symbol>& scratch,
                                   std::vector<Symbol>& out) const {
  scratch.clear();
  if (auto done = settings_.byte_level ? append_bytes(piece, scratch) : append_characters(piece, scratch); !done) {
    return done;
  }
  apply_merges(merges_, scratch);
  out.insert(out.end(), scratch.begin(), scratch.end());
  return {};
}

base::Result<void> BpeModel::append_bytes(std::string_view piece, std::vector<Symbol>& symbols) const {
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(piece[i])];
    if (id < 0) {
      if (auto done = unknown_.append(piece.substr(i, 1), 0, symbols); !done) return done;
    } else {
      symbols.push_back({id, 1});
    }
  }
  return {};
}

base::Result<void> BpeModel::append_characters(std::string_view piece, std::vector<Symbol>& symbols) const {
  if (!settings_.continuation_prefix.empty() || !settings_.end_of_word_suffix.empty()) {
    return append_spelled_characters(piece, symbols);
  }
  std::size_t length = 0;
  for (std::size_t i = 0; i < piece.size(); i += length) {
    const char32_t code_point = base::decode_valid_utf8(piece.data() + i, length);
    if (const TokenId* id = characters_.find(code_point)) {
      symbols.push_back({*id, static_cast<std::uint32_t>(length)});
    } else if (auto done = unknown_.append(piece.substr(i, length), 0, symbols); !done) {
      return done;
    }
  }
  return {};
}

base::Result<void> BpeModel::append_spelled_characters(std::string_view piece, std::vector<Symbol>& symbols) const {
  std::size_t length = 0;
  for (std::size_t i = 0; i < piece.size(); i += length) {
    length = base::utf8_length(piece[i]);
    std::string spelling = i > 0 ? settings_.continuation_prefix : std::string();
    spelling += piece.substr(i, length);
    if (i + length == piece.size()) spelling += settings_.end_of_word_suffix;
    if (const auto id = vocabulary_.find(spelling)) {
      symbols.push_back({*id, static_cast<std::uint32_t>(length)});
    } else if (auto done = unknown_.append_spelled(spelling, piece.substr(i, length), symbols); !done) {
      return done;
    }
  }
  return {};
}

void note_join_to_space(NamedMerge merge, FlatMap<char>& joined) {
  if (!merge.right.starts_with(kSpaceMark)) return;
  std::size_t start = merge.left.size() - 1;
  while (start > 0 && base::is_continuation(merge.left[start]))
    --start;
  joined.insert(base::decode_utf8(merge.left.substr(start)).value, 1);
}

}  // namespace vitrine::tokenizer
