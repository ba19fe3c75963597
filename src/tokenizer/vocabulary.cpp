#include "tokenizer/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace vitrine::tokenizer {
namespace {

constexpr std::size_t kMaxTotalBytes = std::size_t{1} << 30;
// Tables are made at once for no more: what is announced may not come.
constexpr std::size_t kMaxExpected = std::size_t{1} << 19;

}  // namespace

void Vocabulary::reserve(std::size_t num_pieces, std::size_t num_bytes) {
  bytes_.reserve(num_bytes);
  entries_.reserve(num_pieces);
  const std::size_t num_expected = std::min(num_pieces, kMaxExpected);
  short_ids_.reserve(num_expected / 2);
  if (num_expected > slots_.size()) resize_slots(std::bit_ceil(num_expected));
}

base::Result<void> Vocabulary::add(TokenId id, std::string_view piece) {
  if (const auto other = find(piece)) {
    return base::bad_file(fmt::format("ids {} and {} have the same text", *other, id));
  }
  if (auto stored = store(id, piece); !stored) return stored;
  Entry& entry = entries_[static_cast<std::size_t>(id)];
  entry.listed = 1;
  max_piece_bytes_ = std::max(max_piece_bytes_, piece.size());
  if (piece.size() <= kMaxShort) {
    short_ids_.insert(short_key(piece), id);
    return {};
  }
  if (++num_long_ * 4 > slots_.size() * 3) resize_slots(2 * slots_.size());
  const std::uint64_t hash = hash_word(piece);
  slots_[slot_of(piece, hash)] = {static_cast<std::uint32_t>(hash), id, entry.begin, entry.length};
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

std::optional<TokenId> Vocabulary::find_long(std::string_view piece) const {
  const Slot& slot = slots_[slot_of(piece, hash_word(piece))];
  if (slot.id < 0) return std::nullopt;
  return slot.id;
}

std::size_t Vocabulary::slot_of(std::string_view text, std::uint64_t hash) const {
  const auto is_other = [&](const Slot& slot) {
    return slot.hash != static_cast<std::uint32_t>(hash) || slot.length != text.size() ||
           std::memcmp(bytes_.data() + slot.begin, text.data(), text.size()) != 0;
  };
  std::size_t i = first_slot_of(hash);
  while (slots_[i].id >= 0 && is_other(slots_[i]))
    i = (i + 1) & (slots_.size() - 1);
  return i;
}

void Vocabulary::resize_slots(std::size_t num_slots) {
  base::PageVector<Slot> old(num_slots);
  old.swap(slots_);
  slot_shift_ = static_cast<unsigned>(64 - std::countr_zero(num_slots));
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    std::size_t i = first_slot_of(hash_word(std::string_view(bytes_).substr(slot.begin, slot.length)));
    while (slots_[i].id >= 0)
      i = (i + 1) & (slots_.size() - 1);
    slots_[i] = slot;
  }
}

}  // namespace vitrine::tokenizer
