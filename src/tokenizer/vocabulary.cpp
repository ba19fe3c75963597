#include "tokenizer/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace vitrine::tokenizer {
namespace {

constexpr std::size_t kMaxTotalBytes = std::size_t{1} << 30;

std::uint32_t hash_of(std::string_view piece) {
  const std::uint64_t hash = std::hash<std::string_view>{}(piece);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

void Vocabulary::reserve(std::size_t num_pieces, std::size_t num_bytes) {
  bytes_.reserve(num_bytes);
  entries_.reserve(num_pieces);
}

base::Result<void> Vocabulary::add(TokenId id, std::string_view piece) {
  if (const auto other = find(piece)) {
    return base::bad_file(fmt::format("ids {} and {} have the same text", *other, id));
  }
  if (auto stored = store(id, piece); !stored) return stored;
  entries_[static_cast<std::size_t>(id)].listed = 1;
  max_piece_bytes_ = std::max(max_piece_bytes_, piece.size());
  if (piece.size() <= kMaxShort) {
    short_ids_.insert(short_key(piece), id);
    return {};
  }
  if (++num_long_ * 2 > slots_.size()) grow();
  const std::uint32_t hash = hash_of(piece);
  slots_[slot_of(piece, hash)] = {hash, id};
  return {};
}

base::Result<void> Vocabulary::add_unlisted(TokenId id, std::string_view piece) {
  return store(id, piece);
}

base::Result<void> Vocabulary::store(TokenId id, std::string_view piece) {
  if (id < 0 || id > kMaxId) return base::bad_file(fmt::format("id {} is not in 0..{}", id, kMaxId));
  if (contains(id)) return base::bad_file(fmt::format("id {} is given twice", id));
  if (piece.size() >= kMaxTotalBytes - bytes_.size()) return base::bad_file("the pieces take more than 1 GiB");
  const auto index = static_cast<std::size_t>(id);
  if (index >= entries_.size()) entries_.resize(index + 1);
  entries_[index] = {static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(piece.size()) & 0x3FFFFFFFu,
                     1, 0};
  bytes_ += piece;
  return {};
}

std::string_view Vocabulary::piece(TokenId id) const {
  if (!contains(id)) return {};
  return std::string_view(bytes_).substr(entry(id).begin, entry(id).length);
}

std::optional<TokenId> Vocabulary::find_long(std::string_view piece) const {
  const Slot& slot = slots_[slot_of(piece, hash_of(piece))];
  if (slot.id < 0) return std::nullopt;
  return slot.id;
}

std::size_t Vocabulary::slot_of(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash & mask;
  while (slots_[i].id >= 0 && (slots_[i].hash != hash || piece(slots_[i].id) != text))
    i = (i + 1) & mask;
  return i;
}

void Vocabulary::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    std::size_t i = slot.hash & mask;
    while (slots_[i].id >= 0)
      i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

}  // namespace vitrine::tokenizer
