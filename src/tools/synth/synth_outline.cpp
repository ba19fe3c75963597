// Metadata and tensors of a synthetic model, under the names of the GGUF format document and of llama.cpp.
#include <string>
#include <utility>

#include "plan/shape_tensors.h"
#include "tools/synth/synth.h"
#include "tools/synth/synth_tokenizer.h"

namespace vitrine::tools {
namespace {

void add_metadata(loader::GgufOutline& outline, const plan::ModelShape& shape) {
  const auto add = [&](const char* key, auto value) {
    outline.add(std::string(shape.architecture) + "." + key, value);
  };
  outline.add("general.architecture", shape.architecture);
  outline.add("general.name", std::string(shape.name) + " with random weights");
  outline.add("general.quantization_version", std::uint32_t{2});
  add("vocab_size", shape.vocab_size);
  add("context_length", shape.context_length);
  add("block_count", shape.num_layers);
  add("embedding_length", shape.hidden_size);
  add("feed_forward_length", shape.intermediate_size);
  add("attention.head_count", shape.num_heads);
  add("attention.head_count_kv", shape.num_kv_heads);
  add("attention.key_length", shape.head_dim);
  add("attention.value_length", shape.head_dim);
  add("attention.layer_norm_rms_epsilon", shape.rms_norm_eps);
  add("rope.dimension_count", shape.head_dim);
  add("rope.freq_base", shape.rope_theta);
  if (shape.sliding_window != 0) add("attention.sliding_window", shape.sliding_window);
  if (shape.num_experts == 0) return;
  add("expert_count", shape.num_experts);
  add("expert_used_count", shape.num_experts_used);
  add("expert_feed_forward_length", shape.expert_size);
}

}  // namespace

loader::GgufOutline synth_outline(const plan::ModelShape& shape, const plan::TensorTypes& types) {
  loader::GgufOutline outline;
  add_metadata(outline, shape);
  add_synth_tokenizer(outline, shape.vocab_size);
  for (plan::ShapeTensor& tensor : plan::shape_tensors(shape, types))
    outline.add_tensor(std::move(tensor.name), tensor.shape, tensor.type);
  return outline;
}

}  // namespace vitrine::tools
