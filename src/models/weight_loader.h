#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "loader/weight_source.h"
#include "ops/backend.h"

namespace vitrine::models {

// Which convention a model's tensor names and values follow.
enum class WeightFormat { kGguf, kHuggingFace };

// Where a matrix of every expert is: in one stacked tensor, or in tensors named before_index + INDEX + after_index.
struct ExpertTensor {
  std::string stacked;  // empty: the format has none
  std::string before_index;
  std::string after_index;

  std::string of(std::size_t expert) const { return before_index + std::to_string(expert) + after_index; }
};

// Takes weights out of a WeightSource under a model's eyes: every shape is checked against the configuration, and
// finish() refuses a file that holds a tensor which nobody asked for, since ignoring one would change the answers.
// All functions throw base::Exception (kBadFile, naming the tensor). For start-up, on one thread.
class WeightLoader {
 public:
  WeightLoader(const loader::WeightSource& source, WeightFormat format, ops::Backend& backend)
      : source_(source), format_(format), backend_(backend) {}

  WeightFormat format() const { return format_; }
  bool has(const std::string& name) const { return source_.find(name) != nullptr; }

  // A matrix [out_features, in_features], repacked for the backend.
  std::unique_ptr<ops::Matrix> matrix(const std::string& name, std::size_t out_features, std::size_t in_features,
                                      ops::MatrixUse use);
  // The matrices of all experts: slices of one tensor [num_experts, out_features, in_features], or a tensor each.
  std::vector<std::unique_ptr<ops::Matrix>> experts(const ExpertTensor& tensor, std::size_t num_experts,
                                                    std::size_t out_features, std::size_t in_features);
  // A vector as float32; empty where an optional one is absent.
  std::vector<float> vector(const std::string& name, std::size_t size);
  std::vector<float> optional_vector(const std::string& name, std::size_t size);
  // The file's own memory, for row lookups.
  tensor::TensorView table(const std::string& name, std::size_t num_rows, std::size_t width);
  // Marks a tensor as known though it is not needed.
  void ignore(const std::string& name) { used_.insert(name); }

  void finish() const;
  // Memory of all that was loaded so far.
  std::size_t loaded_bytes() const { return loaded_bytes_; }
  // The part of it that belongs to experts.
  std::size_t expert_bytes() const { return expert_bytes_; }

 private:
  std::unique_ptr<ops::Matrix> load(const tensor::TensorView& view, ops::MatrixUse use);
  const tensor::TensorView& require(const std::string& name, const tensor::Shape& shape);

  const loader::WeightSource& source_;
  WeightFormat format_;
  ops::Backend& backend_;
  std::set<std::string, std::less<>> used_;
  std::size_t loaded_bytes_ = 0;
  std::size_t expert_bytes_ = 0;
};

}  // namespace vitrine::models
