#include "plan/network.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <variant>

#include "models/registry.h"
#include "plan/shape_tensors.h"
#include "plan/sizing_backend.h"

namespace vitrine::plan {
namespace {

models::ModelConfig config_of(const ModelShape& shape) {
  models::ModelConfig config;
  config.architecture = shape.architecture;
  config.vocab_size = shape.vocab_size;
  config.context_length = shape.context_length;
  config.num_layers = shape.num_layers;
  config.hidden_size = shape.hidden_size;
  config.intermediate_size = shape.intermediate_size;
  config.num_heads = shape.num_heads;
  config.num_kv_heads = shape.num_kv_heads;
  config.head_dim = shape.head_dim;
  config.tied_embeddings = shape.tied_embeddings;
  config.sliding_window = shape.sliding_window;
  for (std::size_t layer_idx = 0; layer_idx < shape.num_layers; ++layer_idx)
    config.layer_is_windowed.push_back(shape.is_windowed(layer_idx));
  if (shape.num_experts != 0) {
    config.experts.num_experts = shape.num_experts;
    config.experts.num_used = shape.num_experts_used;
    config.experts.intermediate_size = shape.expert_size;
  }
  return config;
}

constexpr std::string_view kEmbeddingName = "token_embd.weight";

void add_tensor(Network& network, const ShapeTensor& tensor) {
  using enum TensorRole;
  const std::size_t rows = tensor.shape[0];
  switch (tensor.role) {
    case kTable:
      if (tensor.name == kEmbeddingName && network.is_head_table) break;  // loaded as the head
      network.table_bytes += rows * *tensor::dtype_bytes(tensor.type, tensor.shape.row_elements());
      network.num_table_elements += tensor.shape.num_elements();
      break;
    case kMatrix:
      network.matrices.push_back({tensor.type, rows, tensor.shape[1], ops::MatrixUse::kLayer});
      break;
    case kRouter:
      network.matrices.push_back({tensor.type, rows, tensor.shape[1], ops::MatrixUse::kHead});
      break;
    case kExperts:
      network.matrices.insert(network.matrices.end(), rows,
                              {tensor.type, tensor.shape[1], tensor.shape[2], ops::MatrixUse::kExpert});
      break;
    case kVector:
      network.vector_bytes += rows * sizeof(float);
      break;
    case kHead:
    case kNote:
      break;
  }
}

// A SentencePiece vocabulary lists none; in a tokenizer.json there is about one a token.
std::size_t num_merges_of(const loader::ModelFiles& files, std::size_t vocab_size) {
  const auto* gguf = std::get_if<loader::GgufModel>(&files);
  if (gguf == nullptr) return vocab_size;
  const loader::MetadataValue* merges = gguf->metadata.find("tokenizer.ggml.merges");
  return merges == nullptr ? 0 : merges->count;
}

// Of a file that synth writes: names and merges make up most of a header.
constexpr std::size_t kHeaderBytesPerToken = 32;

}  // namespace

std::size_t Network::num_parameters() const {
  std::size_t total = num_table_elements + vector_bytes / sizeof(float);
  for (const ops::MatrixSize& matrix : matrices)
    total += matrix.num_elements();
  return total;
}

double Network::num_active_elements() const {
  const models::ExpertConfig& experts = config.experts;
  const double used =
      experts.num_experts == 0 ? 1.0 : static_cast<double>(experts.num_used) / static_cast<double>(experts.num_experts);
  double total = 0.0;
  for (const ops::MatrixSize& matrix : matrices) {
    const double share = matrix.use == ops::MatrixUse::kExpert ? used : 1.0;
    total += share * static_cast<double>(matrix.num_elements());
  }
  return total;
}

Network network_of(const loader::ModelFiles& files, const ops::MemoryModel& backend) {
  SizingBackend sizes(backend);
  const std::unique_ptr<models::Model> model = models::load_model(files, sizes).value_or_throw();
  Network network;
  network.config = model->config();
  network.kv = kv_layout_of(network.config);
  network.matrices = sizes.matrices();
  network.vector_bytes = model->weight_bytes();
  for (const ops::MatrixSize& matrix : network.matrices)
    network.vector_bytes -= backend.matrix_bytes(matrix);
  network.table_bytes = model->table_bytes();
  network.is_head_table = network.table_bytes == 0;
  if (!network.is_head_table) network.num_table_elements = network.config.vocab_size * network.config.hidden_size;
  network.num_merges = num_merges_of(files, network.config.vocab_size);
  const auto& weights = std::visit(
      [](const auto& opened) -> const auto& { return *opened.weights; }, files);
  network.header_bytes = weights.file_bytes();
  for (const loader::NamedTensor& tensor : weights.tensors())
    network.header_bytes -= std::min<std::size_t>(network.header_bytes, tensor.view.size_bytes());
  return network;
}

Network network_of(const ModelShape& shape, const TensorTypes& types) {
  Network network;
  network.config = config_of(shape);
  network.kv = kv_layout_of(shape);
  network.is_computed = shape.is_computed();
  network.is_head_table = shape.tied_embeddings;
  network.num_merges = shape.vocab_size;
  network.header_bytes = kHeaderBytesPerToken * shape.vocab_size;
  ops::MatrixSize head;
  for (const ShapeTensor& tensor : shape_tensors(shape, types)) {
    add_tensor(network, tensor);
    const bool is_head = tensor.role == TensorRole::kHead || (shape.tied_embeddings && tensor.name == kEmbeddingName);
    if (is_head) head = {tensor.type, tensor.shape[0], tensor.shape[1], ops::MatrixUse::kHead};
  }
  network.matrices.push_back(head);
  return network;
}

tensor::DType usual_type(const Network& network) {
  std::map<tensor::DType, std::size_t> counts;
  for (const ops::MatrixSize& matrix : network.matrices)
    counts[matrix.type] += matrix.num_elements();
  return std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })->first;
}

}  // namespace vitrine::plan
