#include "tokenizer/ranked_bpe.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "tokenizer/bpe_model.h"
#include "tokenizer/byte_alphabet.h"

namespace vitrine::tokenizer {
namespace {

// Eight times the longest of published vocabularies. All ways to cut a token in two are looked up.
constexpr std::size_t kMaxTokenBytes = 1024;

// Every way to put the token together from two others is a merge of the token's rank.
void add_merges_of(const Vocabulary& vocabulary, TokenId id, MergeTable& table) {
  const std::string_view piece = vocabulary.piece(id);
  for (std::size_t at = 1; at < piece.size(); ++at) {
    if (base::is_continuation(piece[at])) continue;  // inside the spelling of one byte
    const auto left = vocabulary.find(piece.substr(0, at));
    if (!left) continue;
    const auto right = vocabulary.find(piece.substr(at));
    if (right) table.insert(*left, *right, {static_cast<std::uint32_t>(id), id});
  }
}

}  // namespace

base::Result<void> add_ranked_token(Vocabulary& vocabulary, TokenId id, std::string_view bytes) {
  if (bytes.empty()) return base::bad_file("a token is empty");
  if (bytes.size() > kMaxTokenBytes) {
    return base::bad_file(fmt::format("a token has {} bytes, the limit is {}", bytes.size(), kMaxTokenBytes));
  }
  return vocabulary.add(id, spelling_of_bytes(bytes));
}

std::unique_ptr<Model> make_ranked_bpe(const Vocabulary& vocabulary) {
  MergeTable merges(2 * vocabulary.size());
  for (TokenId id = 0; static_cast<std::size_t>(id) < vocabulary.size(); ++id)
    add_merges_of(vocabulary, id, merges);
  return std::make_unique<BpeModel>(vocabulary, std::move(merges),
                                    BpeSettings{.byte_level = true, .ignore_merges = true, .unknown = {}});
}

}  // namespace vitrine::tokenizer
