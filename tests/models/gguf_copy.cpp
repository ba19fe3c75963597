#include "models/gguf_copy.h"

#include <map>
#include <utility>
#include <vector>

#include "loader/model_files.h"
#include "quant/quant_format.h"
#include "support/gguf_writer.h"

namespace vitrine::testing {
namespace {

using Json = nlohmann::json;

struct Values {
  tensor::Shape shape;
  std::vector<float> values;
};

// Hugging Face names below a layer, and those of GGUF.
const std::map<std::string, std::string> kLayerNames = {
    {"input_layernorm.weight", "attn_norm.weight"},
    {"post_attention_layernorm.weight", "ffn_norm.weight"},
    {"self_attn.q_proj.weight", "attn_q.weight"},
    {"self_attn.k_proj.weight", "attn_k.weight"},
    {"self_attn.v_proj.weight", "attn_v.weight"},
    {"self_attn.o_proj.weight", "attn_output.weight"},
    {"self_attn.q_norm.weight", "attn_q_norm.weight"},
    {"self_attn.k_norm.weight", "attn_k_norm.weight"},
    {"mlp.gate_proj.weight", "ffn_gate.weight"},
    {"mlp.up_proj.weight", "ffn_up.weight"},
    {"mlp.down_proj.weight", "ffn_down.weight"},
    {"mlp.gate.weight", "ffn_gate_inp.weight"},
    {"block_sparse_moe.gate.weight", "ffn_gate_inp.weight"},
};
const std::map<std::string, std::string> kTopNames = {{"model.embed_tokens.weight", "token_embd.weight"},
                                                      {"model.norm.weight", "output_norm.weight"},
                                                      {"lm_head.weight", "output.weight"}};
const std::map<std::string, std::string> kExpertNames = {{"w1", "ffn_gate"},    {"w3", "ffn_up"},
                                                         {"w2", "ffn_down"},    {"gate_proj", "ffn_gate"},
                                                         {"up_proj", "ffn_up"}, {"down_proj", "ffn_down"}};

// blk.0.ffn_up.3.weight for ...experts.3.up_proj.weight.
std::string gguf_name(const std::string& name) {
  const std::string layers = "model.layers.";
  if (!name.starts_with(layers)) return kTopNames.at(name);
  const std::size_t dot = name.find('.', layers.size());
  const std::string block = "blk." + name.substr(layers.size(), dot - layers.size()) + ".";
  const std::string rest = name.substr(dot + 1);
  const std::size_t experts = rest.find("experts.");
  if (experts == std::string::npos) return block + kLayerNames.at(rest);
  const std::size_t index = experts + std::string("experts.").size();
  const std::size_t part = rest.find('.', index) + 1;
  return block + kExpertNames.at(rest.substr(part, rest.rfind('.') - part)) + "." +
         rest.substr(index, part - 1 - index) + ".weight";
}

// GGUF files of Llama hold the rows of queries and keys with the halves of each head interleaved.
void interleave_halves(Values& tensor, std::size_t num_heads) {
  const std::size_t width = tensor.shape[1];
  const std::size_t half = tensor.shape[0] / num_heads / 2;
  const std::vector<float> source = tensor.values;
  for (std::size_t row = 0; row < tensor.shape[0]; ++row) {
    const std::size_t head = row / (2 * half);
    const std::size_t from = head * 2 * half + row % 2 * half + row % (2 * half) / 2;
    std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from * width), width,
                tensor.values.begin() + static_cast<std::ptrdiff_t>(row * width));
  }
}

std::map<std::string, Values> read_tensors(const loader::HfModel& model, bool interleave) {
  std::map<std::string, Values> tensors;
  for (const loader::NamedTensor& tensor : model.weights->tensors()) {
    Values values{tensor.view.shape, std::vector<float>(tensor.view.shape.num_elements())};
    quant::find_quant_format(tensor.view.type)->decode(tensor.view.data, values.values.data(), values.values.size());
    const std::string name = gguf_name(tensor.name);
    if (interleave && name.ends_with("attn_q.weight"))
      interleave_halves(values, model.config.at("num_attention_heads"));
    if (interleave && name.ends_with("attn_k.weight"))
      interleave_halves(values, model.config.at("num_key_value_heads"));
    tensors.emplace(name, std::move(values));
  }
  return tensors;
}

// blk.0.ffn_up.0.weight, ... become blk.0.ffn_up_exps.weight [num_experts, ...].
void stack_experts(std::map<std::string, Values>& tensors, std::size_t num_experts) {
  std::vector<std::string> firsts;
  for (const auto& [name, tensor] : tensors) {
    if (name.ends_with(".0.weight")) firsts.push_back(name);
  }
  for (const std::string& first : firsts) {
    const std::string stem = first.substr(0, first.size() - std::string(".0.weight").size());
    Values all;
    for (std::size_t expert = 0; expert < num_experts; ++expert) {
      const auto node = tensors.extract(stem + "." + std::to_string(expert) + ".weight");
      all.shape = {num_experts, node.mapped().shape[0], node.mapped().shape[1]};
      all.values.insert(all.values.end(), node.mapped().values.begin(), node.mapped().values.end());
    }
    tensors.emplace(stem + "_exps.weight", std::move(all));
  }
}

void add_metadata(GgufWriter& writer, const std::string& architecture, const Json& config) {
  const auto size = [&](const char* key) { return config.at(key).get<std::uint32_t>(); };
  const auto add = [&](const char* key, auto value) { writer.add(architecture + "." + key, value); };
  writer.add("general.architecture", architecture);
  add("context_length", size("max_position_embeddings"));
  add("block_count", size("num_hidden_layers"));
  add("embedding_length", size("hidden_size"));
  add("feed_forward_length", size("intermediate_size"));
  add("attention.head_count", size("num_attention_heads"));
  add("attention.head_count_kv", size("num_key_value_heads"));
  add("attention.layer_norm_rms_epsilon", config.at("rms_norm_eps").get<float>());
  add("rope.freq_base", config.at("rope_parameters").at("rope_theta").get<float>());
  if (config.contains("head_dim") && !config.at("head_dim").is_null()) {
    add("attention.key_length", size("head_dim"));
    add("attention.value_length", size("head_dim"));
  }
  if (!config.contains("num_experts_per_tok")) return;
  add("expert_count", size("num_local_experts"));
  add("expert_used_count", size("num_experts_per_tok"));
  if (config.contains("moe_intermediate_size")) add("expert_feed_forward_length", size("moe_intermediate_size"));
}

}  // namespace

void write_gguf_copy(const std::filesystem::path& model, const std::filesystem::path& gguf,
                     const GgufCopyOptions& options) {
  const loader::ModelFiles files = loader::open_model_files(model).value_or_throw();
  const auto& source = std::get<loader::HfModel>(files);
  const auto type = source.config.at("model_type").get<std::string>();
  const std::string architecture = type == "qwen3_moe" ? "qwen3moe" : type == "qwen3" ? "qwen3" : "llama";
  auto tensors = read_tensors(source, architecture == "llama");
  if (options.stack_experts && source.config.contains("num_experts_per_tok"))
    stack_experts(tensors, source.config.at("num_local_experts"));
  GgufWriter writer;
  add_metadata(writer, architecture, source.config);
  for (const auto& [name, tensor] : tensors) {
    if (options.leave_out.contains(name)) continue;
    const bool plain = tensor.shape.rank() == 1 || name.ends_with("ffn_gate_inp.weight");
    const tensor::DType dtype = plain ? tensor::DType::kF32 : options.matrix_type;
    std::string bytes(*tensor::dtype_bytes(dtype, tensor.values.size()), '\0');
    quant::find_quant_format(dtype)->encode(tensor.values.data(), reinterpret_cast<std::byte*>(bytes.data()),
                                            tensor.values.size());
    writer.add_tensor(name, tensor.shape, dtype, bytes);
  }
  writer.write(gguf);
}

}  // namespace vitrine::testing
