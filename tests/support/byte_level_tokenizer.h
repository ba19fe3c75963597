#pragma once

#include <cstddef>

#include <nlohmann/json.hpp>

namespace vitrine::testing {

// A tokenizer.json of byte-level BPE without merges: `vocabulary` and the special tokens <|im_start|> and <|im_end|>,
// whose ids begin at `first_special_id`.
inline nlohmann::ordered_json byte_level_tokenizer(const nlohmann::ordered_json& vocabulary,
                                                   std::size_t first_special_id) {
  using Json = nlohmann::ordered_json;
  Json added = Json::array();
  for (const char* content : {"<|im_start|>", "<|im_end|>"}) {
    added.push_back({{"id", first_special_id + added.size()},
                     {"content", content},
                     {"special", true},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false}});
  }
  const Json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  return {{"version", "1.0"},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
}

}  // namespace vitrine::testing
