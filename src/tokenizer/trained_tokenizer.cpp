#include "tokenizer/trained_tokenizer.h"

#include <nlohmann/json.hpp>

namespace vitrine::tokenizer {
namespace {

using Json = nlohmann::ordered_json;

Json byte_level(bool uses_gpt2_pattern) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", uses_gpt2_pattern}};
}

Json pre_tokenizer(const KnownPattern& splitter) {
  if (splitter.name == "gpt2") return byte_level(true);
  const Json split = {
      {"type", "Split"}, {"pattern", {{"Regex", splitter.expression}}}, {"behavior", "Isolated"}, {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level(false)})}};
}

Json added_tokens(const TrainedBpe& trained) {
  Json tokens = Json::array();
  for (const TokenId id : trained.special_ids) {
    tokens.push_back({{"id", id},
                      {"content", trained.pieces[static_cast<std::size_t>(id)]},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", true}});
  }
  return tokens;
}

// Written by hand because an ordered object is a list: half a second for 30,000 pieces.
std::string vocabulary(const TrainedBpe& trained) {
  std::string text = "{";
  for (std::size_t id = 0; id < trained.pieces.size(); ++id) {
    text += id == 0 ? "\n" : ",\n";
    text += "      " + Json(trained.pieces[id]).dump() + ": " + std::to_string(id);
  }
  return text + "\n    }";
}

std::string merges(const TrainedBpe& trained) {
  const auto piece = [&trained](TokenId id) { return Json(trained.pieces[static_cast<std::size_t>(id)]).dump(); };
  std::string text = "[";
  for (const TrainedMerge& merge : trained.merges) {
    text += text.size() == 1 ? "\n" : ",\n";
    text += "      [" + piece(merge.left) + ", " + piece(merge.right) + "]";
  }
  return text + "\n    ]";
}

}  // namespace

std::string to_tokenizer_json(const TrainedBpe& trained, const KnownPattern& splitter) {
  std::string text = "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n";
  const auto add = [&text](std::string_view name, const Json& value) {
    text += "  \"" + std::string(name) + "\": " + value.dump() + ",\n";
  };
  add("added_tokens", added_tokens(trained));
  add("normalizer", nullptr);
  add("pre_tokenizer", pre_tokenizer(splitter));
  add("post_processor", nullptr);
  add("decoder", byte_level(true));
  text += "  \"model\": {\n    \"type\": \"BPE\",\n";
  for (const char* const name : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"})
    text += "    \"" + std::string(name) + "\": null,\n";
  for (const char* const name : {"fuse_unk", "byte_fallback", "ignore_merges"})
    text += "    \"" + std::string(name) + "\": false,\n";
  text += "    \"vocab\": " + vocabulary(trained) + ",\n";
  text += "    \"merges\": " + merges(trained) + "\n  }\n}\n";
  return text;
}

}  // namespace vitrine::tokenizer
