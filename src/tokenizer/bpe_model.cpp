#include "tokenizer/bpe_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/utf8.h"

namespace vitrine::tokenizer {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

std::array<TokenId, 256> find_byte_ids(const Vocabulary& vocabulary, bool byte_level) {
  std::array<TokenId, 256> ids{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<unsigned char>(byte);
    const std::string spelling = byte_level ? std::string(spelling_of_byte(value)) : token_of_byte(value);
    ids[byte] = vocabulary.find(spelling).value_or(-1);
  }
  return ids;
}

FlatMap<TokenId> find_characters(const Vocabulary& vocabulary) {
  FlatMap<TokenId> characters;
  for (TokenId id = 0; static_cast<std::size_t>(id) < vocabulary.size(); ++id) {
    const std::string_view piece = vocabulary.piece(id);
    if (piece.empty() || piece.size() > 4 || piece.size() != utf8_length(piece[0])) continue;
    const CodePoint code_point = decode_utf8(piece);
    if (code_point.valid) characters.insert(code_point.value, id);
  }
  return characters;
}

}  // namespace

BpeModel::BpeModel(const Vocabulary& vocabulary, MergeTable merges, const BpeSettings& settings)
    : vocabulary_(vocabulary),
      merges_(std::move(merges)),
      settings_(settings),
      byte_ids_(find_byte_ids(vocabulary, settings.byte_level)) {
  has_all_bytes_ = std::ranges::none_of(byte_ids_, [](TokenId id) { return id < 0; });
  if (!settings.byte_level) characters_ = find_characters(vocabulary);
}

void BpeModel::set_joined_to_space(FlatMap<char> joined) {
  joined_to_space_ = std::move(joined);
}

bool BpeModel::may_cut_before_space(char32_t previous) const {
  return joined_to_space_ && !settings_.ignore_merges && !joined_to_space_->contains(previous);
}

base::Result<void> BpeModel::encode(std::string_view piece, std::vector<Symbol>& scratch,
                                    std::vector<Symbol>& out) const {
  if (settings_.ignore_merges && piece.size() <= vocabulary_.max_piece_bytes()) {
    const auto whole = vocabulary_.find(settings_.byte_level ? spelling_of_bytes(piece) : std::string(piece));
    if (whole) {
      out.push_back({*whole, static_cast<std::uint32_t>(piece.size())});
      return {};
    }
  }
  scratch.clear();
  if (auto done = settings_.byte_level ? append_bytes(piece, scratch) : append_characters(piece, scratch); !done) {
    return done;
  }
  apply_merges(merges_, scratch);
  if (extra_.size() > 0) {
    if (auto done = resolve_extra(piece, scratch); !done) return done;
  }
  out.insert(out.end(), scratch.begin(), scratch.end());
  return {};
}

base::Result<void> BpeModel::append_bytes(std::string_view piece, std::vector<Symbol>& symbols) const {
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(piece[i])];
    if (id < 0) {
      if (auto done = append_unknown(piece.substr(i, 1), symbols); !done) return done;
    } else {
      symbols.push_back({id, 1});
    }
  }
  return {};
}

base::Result<void> BpeModel::append_characters(std::string_view piece, std::vector<Symbol>& symbols) const {
  std::size_t length = 0;
  for (std::size_t i = 0; i < piece.size(); i += length) {
    const char32_t code_point = decode_valid_utf8(piece.data() + i, length);
    const TokenId* id = characters_.find(code_point);
    if (id == nullptr) id = extra_.find(code_point);
    if (id != nullptr) {
      symbols.push_back({*id, static_cast<std::uint32_t>(length)});
    } else if (auto done = append_unknown(piece.substr(i, length), symbols); !done) {
      return done;
    }
  }
  return {};
}

base::Result<void> BpeModel::append_unknown(std::string_view character, std::vector<Symbol>& symbols) const {
  const auto is_known = [this](char byte) { return byte_ids_[static_cast<unsigned char>(byte)] >= 0; };
  if (settings_.byte_fallback && (has_all_bytes_ || std::ranges::all_of(character, is_known))) {
    for (const char byte : character)
      symbols.push_back({byte_ids_[static_cast<unsigned char>(byte)], 1});
    return {};
  }
  if (!settings_.unknown) {
    return base::usage_error(fmt::format("the vocabulary has no token for the byte 0x{:02X} and no unknown token",
                                         static_cast<unsigned char>(character[0])));
  }
  const auto length = static_cast<std::uint32_t>(character.size());
  if (settings_.fuse_unknown && !symbols.empty() && symbols.back().id == *settings_.unknown) {
    symbols.back().length += length;
  } else {
    symbols.push_back({*settings_.unknown, length});
  }
  return {};
}

base::Result<void> BpeModel::resolve_extra(std::string_view piece, std::vector<Symbol>& symbols) const {
  const auto is_extra = [this](const Symbol& symbol) {
    return static_cast<std::size_t>(symbol.id) >= vocabulary_.size();
  };
  if (std::ranges::none_of(symbols, is_extra)) return {};
  std::vector<Symbol> resolved;
  for (std::size_t i = 0, at = 0; i < symbols.size(); at += symbols[i].length, ++i) {
    if (!is_extra(symbols[i])) {
      resolved.push_back(symbols[i]);
    } else if (auto done = append_unknown(piece.substr(at, symbols[i].length), resolved); !done) {
      return done;
    }
  }
  symbols = std::move(resolved);
  return {};
}

base::Result<void> add_merge(const Vocabulary& vocabulary, NamedMerge merge, std::uint32_t rank, MergeTable& table) {
  if (merge.left.empty() || merge.right.empty()) return base::bad_file("a merge needs two texts that are not empty");
  const auto left = vocabulary.find(merge.left);
  const auto right = vocabulary.find(merge.right);
  if (!left || !right) {
    return base::bad_file(fmt::format("\"{}\" is not in the vocabulary", left ? merge.right : merge.left));
  }
  std::string text(merge.left);
  text += merge.right;
  const auto merged = vocabulary.find(text);
  if (!merged) return base::bad_file(fmt::format("\"{}\" is not in the vocabulary", text));
  table.insert(*left, *right, {rank, *merged});
  return {};
}

void note_join_to_space(NamedMerge merge, FlatMap<char>& joined) {
  if (!merge.right.starts_with(kSpaceMark)) return;
  std::size_t start = merge.left.size() - 1;
  while (start > 0 && is_continuation(merge.left[start]))
    --start;
  joined.insert(decode_utf8(merge.left.substr(start)).value, 1);
}

}  // namespace vitrine::tokenizer
