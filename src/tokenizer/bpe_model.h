#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bpe_matcher.h"
#include "tokenizer/flat_map.h"
#include "tokenizer/merge_reader.h"
#include "tokenizer/model.h"
#include "tokenizer/sure_borders.h"
#include "tokenizer/unknown_characters.h"
#include "tokenizer/vocabulary.h"

namespace vitrine::tokenizer {

// What a BPE vocabulary starts from and how it treats what it does not know.
struct BpeSettings {
  bool byte_level = false;     // the first symbols are bytes, spelled in the byte alphabet; else characters
  bool ignore_merges = false;  // a piece that is a token as a whole is taken without merging
  // Of models that are not byte-level: what the spelling of a symbol has before it unless it begins the piece, and
  // behind it where it ends the piece; "##", "</w>". A merge drops the prefix of its right side.
  std::string continuation_prefix = {};
  std::string end_of_word_suffix = {};
  UnknownSettings unknown;
};

// Byte-pair encoding with listed merges, on bytes (GPT-2, Llama 3) or on characters (a tokenizer.json of Gemma).
class BpeModel : public Model {
 public:
  // Both references must outlive the model.
  BpeModel(const Vocabulary& vocabulary, MergeTable merges, const BpeSettings& settings);

  base::Result<void> encode(std::string_view piece, std::vector<Symbol>& scratch,
                            std::vector<Symbol>& out) const override;
  base::Result<void> encode_part(std::string_view part, std::vector<Symbol>& scratch,
                                 std::vector<Symbol>& out) const override;
  SureBorders* borders(std::size_t num_met, std::size_t num_to_come) const override;
  void expect(std::size_t num_bytes) const override;
  bool may_cut_before_space(char32_t previous) const override;
  bool cuts_before_spaces() const override { return joined_to_space_ && !settings_.ignore_merges; }
  std::string_view kind() const override { return settings_.byte_level ? "byte-level BPE" : "BPE"; }

  // The code points that some merge joins with a U+2581 on their right.
  void set_joined_to_space(FlatMap<char> joined);

 private:
  base::Result<void> merge(std::string_view piece, std::vector<Symbol>& scratch, std::vector<Symbol>& out) const;
  base::Result<void> append_bytes(std::string_view piece, std::vector<Symbol>& symbols) const;
  base::Result<void> append_characters(std::string_view piece, std::vector<Symbol>& symbols) const;
  base::Result<void> append_spelled_characters(std::string_view piece, std::vector<Symbol>& symbols) const;

  const BpeMatcher* matcher_for(std::string_view piece) const;
  const BpeMatcher* build_matcher() const;

  const Vocabulary& vocabulary_;
  MergeTable merges_;
  BpeSettings settings_;
  UnknownCharacters unknown_;
  ByteIds byte_ids_{};           // the first symbols of a byte-level model
  FlatMap<TokenId> characters_;  // those of the others
  std::optional<FlatMap<char>> joined_to_space_;

  // The matcher is built by the first thread that finds that it pays; until then, the others merge.
  mutable std::atomic<std::size_t> merged_bytes_ = 0;
  mutable std::atomic<bool> building_ = false;
  mutable std::atomic<const BpeMatcher*> matcher_ = nullptr;
  mutable std::unique_ptr<const BpeMatcher> built_;
  // So are the borders; who comes meanwhile waits.
  mutable std::atomic<std::size_t> divisible_bytes_ = 0;
  mutable std::once_flag borders_once_;
  mutable std::unique_ptr<SureBorders> borders_;
};

// Collects the code points that some merge joins with a U+2581 on the right: see Model::may_cut_before_space.
void note_join_to_space(NamedMerge merge, FlatMap<char>& joined);

}  // namespace vitrine::tokenizer
