#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "loader/model_files.h"
#include "models/model_config.h"
#include "ops/memory_model.h"
#include "plan/kv_layout.h"
#include "plan/model_shape.h"
#include "plan/tensor_types.h"

namespace vitrine::plan {

// A model by its sizes: all that a forecast asks. Made from a file's header or from a known shape.
struct Network {
  models::ModelConfig config;
  KvLayout kv;
  std::vector<ops::MatrixSize> matrices;  // in the order of loading; the head is the last
  std::size_t vector_bytes = 0;           // norms and biases, as float32
  std::size_t table_bytes = 0;            // whose rows are looked up in the file's memory
  bool is_head_table = false;             // the head is the embedding as well
  std::size_t num_table_elements = 0;     // of tables that are not the head as well
  std::size_t header_bytes = 0;           // of the files, all but tensors
  std::size_t num_merges = 0;             // of the tokenizer
  bool is_computed = true;                // Vitrine runs such models

  // All parameters, and those of the matrices that a token is multiplied with: of the experts only the chosen ones.
  std::size_t num_parameters() const;
  double num_active_elements() const;
};

// Reads the headers and the norms, not the matrices: the model's own loading, with a backend that only counts. Throws
// base::Exception (kBadFile) where loading would.
Network network_of(const loader::ModelFiles& files, const ops::MemoryModel& backend);

// The type that most elements of its matrices have.
tensor::DType usual_type(const Network& network);

Network network_of(const ModelShape& shape, const TensorTypes& types);

}  // namespace vitrine::plan
