#include "support/chat_model.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/byte_level_tokenizer.h"
#include "support/reference_data.h"

namespace vitrine::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kTemplate =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

std::string utf8(int code_point) {
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xC0 | (code_point >> 6)), static_cast<char>(0x80 | (code_point & 0x3F))};
}

// The 256 byte tokens as byte-level BPE spells them: a byte that can't be seen has a letter from 256 on.
Json byte_vocabulary() {
  Json vocabulary = Json::object();
  int next_letter = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_seen = (byte > 32 && byte < 127) || (byte > 160 && byte < 256 && byte != 173);
    vocabulary[utf8(is_seen ? byte : next_letter++)] = byte;
  }
  return vocabulary;
}

Json tokenizer_json() {
  Json vocabulary = byte_vocabulary();
  for (int id = 258; id < 320; ++id)
    vocabulary["word" + std::to_string(id)] = id;
  return byte_level_tokenizer(vocabulary, 256);
}

// Overwrites a row of the embeddings in a safetensors file: eight bytes of length, a header, then the tensors.
void spoil_row(const fs::path& path, int row) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  std::uint64_t header_bytes = 0;
  file.read(reinterpret_cast<char*>(&header_bytes), sizeof header_bytes);
  std::string header(header_bytes, ' ');
  file.read(header.data(), static_cast<std::streamsize>(header_bytes));
  const Json tensor = Json::parse(header)["model.embed_tokens.weight"];
  const auto num_channels = tensor["shape"][1].get<std::size_t>();
  const std::vector<float> values(num_channels, std::numeric_limits<float>::quiet_NaN());
  const std::size_t offset = static_cast<std::size_t>(row) * num_channels * sizeof(float);
  file.seekp(static_cast<std::streamoff>(8 + header_bytes + tensor["data_offsets"][0].get<std::size_t>() + offset));
  file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(num_channels * sizeof(float)));
}

void write(const fs::path& path, const Json& value) {
  std::ofstream(path) << value.dump();
}

}  // namespace

ChatModel::ChatModel(bool has_nan_token) {
  const fs::path source = data_path("models/llama");
  const fs::path target = path();
  fs::copy_file(source / "model.safetensors", target / "model.safetensors");
  if (has_nan_token) spoil_row(target / "model.safetensors", kNanId);
  Json config = read_json(source / "config.json");
  config["max_position_embeddings"] = kContextTokens;
  config["eos_token_id"] = kEndId;
  write(target / "config.json", config);
  write(target / "tokenizer.json", tokenizer_json());
  write(target / "tokenizer_config.json", {{"eos_token", "<|im_end|>"}, {"chat_template", kTemplate}});
}

std::string ChatModel::path() const {
  return folder_.path().string();
}

}  // namespace vitrine::testing
