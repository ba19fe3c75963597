#include "tokenizer/ranked_bpe.h"

#include <fmt/format.h>

#include <vector>

#include "base/utf8.h"
#include "tokenizer/bpe_model.h"
#include "tokenizer/byte_alphabet.h"

namespace vitrine::tokenizer {
namespace {

// Eight times the longest of published vocabularies. All ways to cut a token in two are looked up.
constexpr std::size_t kMaxTokenBytes = 1024;

// Pairs that wait while their places in the table are fetched.
constexpr std::size_t kPairsAhead = 32;
// Tokens whose parts are fetched while those before them are looked up.
constexpr TokenId kTokensAhead = 4;

// visit(left, right) for every way to cut the token in two.
template <typename Visit>
void for_each_cut(std::string_view piece, Visit visit) {
  for (std::size_t at = 1; at < piece.size(); ++at) {
    if (base::is_continuation(piece[at])) continue;  // inside the spelling of one byte
    visit(piece.substr(0, at), piece.substr(at));
  }
}

void insert_all(std::vector<MergeTable::Pair>& pairs, MergeTable& table) {
  for (const MergeTable::Pair& pair : pairs)
    table.insert(pair.left, pair.right, pair.merge);
  pairs.clear();
}

}  // namespace

base::Result<void> add_ranked_token(Vocabulary& vocabulary, TokenId id, std::string_view bytes) {
  if (bytes.empty()) return base::bad_file("a token is empty");
  if (bytes.size() > kMaxTokenBytes) {
    return base::bad_file(fmt::format("a token has {} bytes, the limit is {}", bytes.size(), kMaxTokenBytes));
  }
  return vocabulary.add(id, spelling_of_bytes(bytes));
}

// Every way to put a token together from two others is a merge of the token's rank.
std::unique_ptr<Model> make_ranked_bpe(const Vocabulary& vocabulary) {
  MergeTable merges(2 * vocabulary.size());
  std::vector<MergeTable::Pair> pairs;
  const auto prefetch = [&](std::string_view left, std::string_view right) {
    vocabulary.prefetch(left);
    vocabulary.prefetch(right);
  };
  for (TokenId id = 0; static_cast<std::size_t>(id) < vocabulary.size(); ++id) {
    for_each_cut(vocabulary.piece(id + kTokensAhead), prefetch);
    for_each_cut(vocabulary.piece(id), [&](std::string_view left_piece, std::string_view right_piece) {
      const auto left = vocabulary.find(left_piece);
      if (!left) return;
      const auto right = vocabulary.find(right_piece);
      if (!right) return;
      merges.prefetch(*left, *right);
      pairs.push_back({*left, *right, {static_cast<std::uint32_t>(id), id}});
    });
    if (pairs.size() >= kPairsAhead) insert_all(pairs, merges);
  }
  insert_all(pairs, merges);
  return std::make_unique<BpeModel>(vocabulary, std::move(merges),
                                    BpeSettings{.byte_level = true, .ignore_merges = true, .unknown = {}});
}

}  // namespace vitrine::tokenizer
