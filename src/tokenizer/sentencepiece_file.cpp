#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "tokenizer/protobuf_reader.h"
#include "tokenizer/sentencepiece_parts.h"
#include "tokenizer/tokenizer.h"

// A SentencePiece model file: the message sentencepiece.ModelProto (sentencepiece_model.proto, which names the fields
// and their numbers and defaults).
namespace vitrine::tokenizer {
namespace {

using Wire = ProtobufField::Wire;

// Longer than any published piece; one of megabytes would only make looking for pieces slow.
constexpr std::size_t kMaxPieceBytes = 4096;

[[noreturn]] void fail_model(std::string_view path, std::string_view reason) {
  throw base::Exception(base::ErrorKind::kBadFile, fmt::format("{}: {}", path, reason));
}

// Calls `take` for every field of a message.
template <typename Take>
void for_each_field(std::string_view message, std::string_view path, Take take) {
  ProtobufReader reader(message);
  while (!reader.at_end()) {
    const auto field = reader.next();
    if (!field) fail_model(path, "not a protobuf message, or cut off");
    take(*field);
  }
}

struct SentencePieceFile {
  SentencePieceVocabulary vocabulary;
  std::int64_t unknown = 0, bos = 1, eos = 2, pad = -1;  // below 0: there is none
};

void read_piece(std::string_view message, SentencePieceVocabulary& vocabulary) {
  const std::string path = fmt::format("pieces[{}]", vocabulary.pieces.size());
  std::string_view text;
  float score = 0;
  auto type = PieceType::kNormal;
  for_each_field(message, path, [&](const ProtobufField& field) {
    if (field.number == 1 && field.wire == Wire::kBytes) text = field.bytes;
    if (field.number == 2 && field.wire == Wire::kFixed32) score = field.as_float();
    if (field.number != 3 || field.wire != Wire::kVarint) return;
    if (field.value < 1 || field.value > 6) fail_model(path + ".type", fmt::format("{} is unknown", field.value));
    type = static_cast<PieceType>(field.value);
  });
  if (text.size() > kMaxPieceBytes) fail_model(path, fmt::format("is longer than {} bytes", kMaxPieceBytes));
  if (vocabulary.pieces.size() > static_cast<std::size_t>(Vocabulary::kMaxId)) fail_model(path, "is one too many");
  vocabulary.pieces.push_back(text);
  vocabulary.scores.push_back(score);
  vocabulary.types.push_back(type);
}

void read_trainer(std::string_view message, SentencePieceFile& file) {
  using Algorithm = SentencePieceVocabulary::Algorithm;
  file.vocabulary.byte_fallback = false;
  const auto read_algorithm = [&file](std::uint64_t type) {
    constexpr std::array kAlgorithms = {Algorithm::kUnigram, Algorithm::kBpe, Algorithm::kWord, Algorithm::kCharacter};
    if (type < 1 || type > kAlgorithms.size()) {
      fail_model("trainer_spec.model_type",
                 fmt::format("{} is none of UNIGRAM (1), BPE (2), WORD (3), CHAR (4)", type));
    }
    file.vocabulary.algorithm = kAlgorithms[type - 1];
  };
  for_each_field(message, "trainer_spec", [&](const ProtobufField& field) {
    if (field.number == 44 && field.wire == Wire::kBytes) file.vocabulary.unknown_surface = field.bytes;
    if (field.wire != Wire::kVarint) return;
    const auto id = static_cast<std::int32_t>(field.value);  // an int32 below 0 is written as 64 bits
    switch (field.number) {
      case 3:
        read_algorithm(field.value);
        break;
      case 24:
        file.vocabulary.prefix_is_behind = field.as_bool();
        break;
      case 35:
        file.vocabulary.byte_fallback = field.as_bool();
        break;
      case 40:
        file.unknown = id;
        break;
      case 41:
        file.bos = id;
        break;
      case 42:
        file.eos = id;
        break;
      case 43:
        file.pad = id;
        break;
      default:
        break;
    }
  });
}

void read_normalizer_spec(std::string_view message, SentencePieceVocabulary& vocabulary) {
  vocabulary.collapses_spaces = true;
  for_each_field(message, "normalizer_spec", [&](const ProtobufField& field) {
    switch (field.number) {
      case 2:
        vocabulary.character_map = field.bytes;
        break;
      case 3:
        vocabulary.adds_prefix = field.as_bool();
        break;
      case 4:
        vocabulary.collapses_spaces = field.as_bool();
        break;
      case 5:
        if (!field.as_bool()) fail_model("normalizer_spec.escape_whitespaces", "only true is supported");
        break;
      default:
        break;
    }
  });
}

SentencePieceFile read_model_file(std::string_view model) {
  SentencePieceFile file;
  // What a file without these messages would mean.
  file.vocabulary.algorithm = SentencePieceVocabulary::Algorithm::kUnigram;
  file.vocabulary.byte_fallback = false;
  file.vocabulary.collapses_spaces = true;
  file.vocabulary.unknown_surface = " \u2047 ";
  for_each_field(model, "model", [&file](const ProtobufField& field) {
    if (field.wire != Wire::kBytes) return;
    if (field.number == 1) read_piece(field.bytes, file.vocabulary);
    if (field.number == 2) read_trainer(field.bytes, file);
    if (field.number == 3) read_normalizer_spec(field.bytes, file.vocabulary);
  });
  if (file.vocabulary.pieces.empty()) fail_model("pieces", "there are none");
  return file;
}

std::optional<TokenId> id_in(const SentencePieceFile& file, std::int64_t id, std::string_view name) {
  if (id < 0) return std::nullopt;
  if (static_cast<std::size_t>(id) < file.vocabulary.pieces.size()) return static_cast<TokenId>(id);
  fail_model(fmt::format("trainer_spec.{}", name), fmt::format("{} is not the id of a piece", id));
}

TokenizerParts read_sentencepiece_file(std::string_view model) {
  SentencePieceFile file = read_model_file(model);
  file.vocabulary.unknown = id_in(file, file.unknown, "unk_id");
  TokenizerParts parts = make_sentencepiece_parts(file.vocabulary).value_or_throw();
  parts.ids = {.bos = id_in(file, file.bos, "bos_id"),
               .eos = id_in(file, file.eos, "eos_id"),
               .unk = file.vocabulary.unknown,
               .pad = id_in(file, file.pad, "pad_id"),
               .end_of_generation = {}};
  if (parts.ids.bos) parts.prefix_ids = {*parts.ids.bos};
  complete_end_of_generation(parts);
  return parts;
}

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> Tokenizer::from_sentencepiece(std::string_view model) {
  try {
    return std::make_unique<Tokenizer>(read_sentencepiece_file(model));
  } catch (const base::Exception& exception) {
    return exception.error();
  }
}

}  // namespace vitrine::tokenizer
