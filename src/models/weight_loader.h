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

 private:
  const tensor::TensorView& require(const std::string& name, const tensor::Shape& shape);

  const loader::WeightSource& source_;
  WeightFormat format_;
  ops::Backend& backend_;
  std::set<std::string, std::less<>> used_;
  std::size_t loaded_bytes_ = 0;
};

}  // namespace vitrine::models
