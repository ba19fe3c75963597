#include "models/registry.h"

#include <algorithm>
#include <array>
#include <new>
#include <string>

#include "models/gguf_config.h"
#include "models/hf_config.h"

namespace vitrine::models {
namespace {

constexpr std::array<const Family*, 3> kFamilies = {&kLlamaFamily, &kGemma3Family, &kQwen3Family};

bool is_gguf(const loader::ModelFiles& files) {
  return std::holds_alternative<loader::GgufModel>(files);
}

const loader::WeightSource& weights_of(const loader::ModelFiles& files) {
  return is_gguf(files) ? *std::get<loader::GgufModel>(files).weights : *std::get<loader::HfModel>(files).weights;
}

std::string architecture_of(const loader::ModelFiles& files) {
  if (!is_gguf(files)) {
    const auto& json = std::get<loader::HfModel>(files).config;
    const auto type = json.find("model_type");
    if (type == json.end() || !type->is_string())
      throw base::Exception(base::bad_file("config.json: model_type is missing"));
    return type->get<std::string>();
  }
  const auto value = std::get<loader::GgufModel>(files).metadata.string_value("general.architecture").value_or_throw();
  if (!value) throw base::Exception(base::bad_file("general.architecture is missing"));
  return std::string(*value);
}

const Family& family_of(const loader::ModelFiles& files) {
  const std::string architecture = architecture_of(files);
  std::string known;
  for (const Family* family : kFamilies) {
    const auto names = is_gguf(files) ? family->gguf_architectures : family->hf_model_types;
    if (std::ranges::find(names, architecture) != names.end()) return *family;
    for (const std::string_view name : names)
      known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw base::Exception(base::bad_file("architecture " + architecture + " is not supported; known are " + known));
}

void require(bool condition, const std::string& message) {
  if (!condition) throw base::Exception(base::bad_file(message));
}

void check_config(const ModelConfig& config) {
  require(config.num_heads > 0 && config.num_kv_heads > 0 && config.num_heads % config.num_kv_heads == 0,
          "attention heads: " + std::to_string(config.num_heads) + " is not a multiple of the " +
              std::to_string(config.num_kv_heads) + " KV heads");
  require(config.head_dim > 0 && config.head_dim % 16 == 0 && config.head_dim <= 1024,
          "head dimension " + std::to_string(config.head_dim) + " is not a multiple of 16 up to 1024");
  require(config.rope.rotary_dim % 2 == 0 && config.rope.rotary_dim <= config.head_dim, "rotary dimension");
  require(config.context_length > 0 && config.vocab_size > 0, "context length or vocabulary is empty");
}

ModelConfig config_of(const loader::ModelFiles& files, const Family& family) {
  ModelConfig config;
  if (is_gguf(files)) {
    const auto& gguf = std::get<loader::GgufModel>(files);
    config = read_gguf_config(gguf);
    const tensor::TensorView* embedding = gguf.weights->find("token_embd.weight");
    require(embedding != nullptr && embedding->shape.rank() == 2, "tensor token_embd.weight is missing or no matrix");
    config.vocab_size = embedding->shape[0];
    family.configure_gguf(gguf.metadata, config);
    config.tied_embeddings = gguf.weights->find("output.weight") == nullptr;
  } else {
    const auto& json = std::get<loader::HfModel>(files).config;
    config = read_hf_config(json);
    family.configure_hf(json, config);
  }
  config.architecture = family.name;
  check_config(config);
  return config;
}

// Start-up code throws; here its errors become values.
template <typename Function>
auto catch_errors(Function function) -> base::Result<decltype(function())> {
  try {
    return function();
  } catch (const base::Exception& exception) {
    return exception.error();
  } catch (const std::bad_alloc&) {
    return base::Error{base::ErrorKind::kNoMemory, "not enough memory for the model's weights"};
  } catch (const nlohmann::json::exception& exception) {
    return base::bad_file(std::string("config.json: ") + exception.what());
  }
}

}  // namespace

std::span<const Family* const> families() {
  return kFamilies;
}

base::Result<ModelConfig> read_model_config(const loader::ModelFiles& files) {
  return catch_errors([&] { return config_of(files, family_of(files)); });
}

base::Result<std::unique_ptr<Model>> load_model(const loader::ModelFiles& files, ops::Backend& backend) {
  return catch_errors([&] {
    const Family& family = family_of(files);
    const ModelConfig config = config_of(files, family);
    WeightLoader weights(weights_of(files), is_gguf(files) ? WeightFormat::kGguf : WeightFormat::kHuggingFace, backend);
    std::unique_ptr<Model> model = family.build(config, backend, weights);
    weights.finish();
    return model;
  });
}

}  // namespace vitrine::models
