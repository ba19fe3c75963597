#include "models/weight_loader.h"

#include "base/result.h"
#include "quant/quant_format.h"

namespace vitrine::models {

const tensor::TensorView& WeightLoader::require(const std::string& name, const tensor::Shape& shape) {
  const tensor::TensorView* view = source_.find(name);
  if (view == nullptr) throw base::Exception(base::bad_file("tensor " + name + " is missing"));
  if (!(view->shape == shape)) {
    throw base::Exception(base::bad_file("tensor " + name + ": shape " + view->shape.to_string() +
                                         ", but the model's " + "configuration needs " + shape.to_string()));
  }
  used_.insert(name);
  return *view;
}

std::unique_ptr<ops::Matrix> WeightLoader::matrix(const std::string& name, std::size_t out_features,
                                                  std::size_t in_features, ops::MatrixUse use) {
  return load(require(name, {out_features, in_features}), use);
}

std::unique_ptr<ops::Matrix> WeightLoader::load(const tensor::TensorView& view, ops::MatrixUse use) {
  auto matrix = backend_.load_matrix(view, use);
  loaded_bytes_ += matrix->size_bytes();
  if (backend_.keeps_source(view.type)) {
    loaded_bytes_ += view.size_bytes();
  } else {
    source_.release_pages(view);
  }
  return matrix;
}

std::vector<std::unique_ptr<ops::Matrix>> WeightLoader::experts(const ExpertTensor& tensor, std::size_t num_experts,
                                                                std::size_t out_features, std::size_t in_features) {
  const std::size_t bytes_before = loaded_bytes_;
  std::vector<std::unique_ptr<ops::Matrix>> matrices;
  if (!tensor.stacked.empty() && (has(tensor.stacked) || !has(tensor.of(0)))) {
    const tensor::TensorView& all = require(tensor.stacked, {num_experts, out_features, in_features});
    for (std::size_t expert = 0; expert < num_experts; ++expert) {
      const tensor::TensorView one{all.type, {out_features, in_features}, all.row(expert * out_features)};
      matrices.push_back(load(one, ops::MatrixUse::kExpert));
    }
  }
  for (std::size_t expert = matrices.size(); expert < num_experts; ++expert) {
    matrices.push_back(matrix(tensor.of(expert), out_features, in_features, ops::MatrixUse::kExpert));
  }
  expert_bytes_ += loaded_bytes_ - bytes_before;
  return matrices;
}

std::vector<float> WeightLoader::vector(const std::string& name, std::size_t size) {
  const tensor::TensorView& view = require(name, {size});
  const quant::QuantFormat* format = quant::find_quant_format(view.type);
  std::vector<float> values(size);
  loaded_bytes_ += size * sizeof(float);
  format->decode(view.data, values.data(), size);
  return values;
}

std::vector<float> WeightLoader::optional_vector(const std::string& name, std::size_t size) {
  return has(name) ? vector(name, size) : std::vector<float>{};
}

tensor::TensorView WeightLoader::table(const std::string& name, std::size_t num_rows, std::size_t width) {
  return require(name, {num_rows, width});
}

void WeightLoader::finish() const {
  for (const loader::NamedTensor& tensor : source_.tensors()) {
    if (used_.contains(tensor.name)) continue;
    throw base::Exception(base::bad_file(
        "tensor " + tensor.name + ": this model family has no use for it, so the file must be of another model"));
  }
}

}  // namespace vitrine::models
