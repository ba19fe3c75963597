#include "vitrine/tensor_dump.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "models/sequence_pass.h"
#include "tensor/npy.h"
#include "tools/hub/files.h"

namespace vitrine::cli {
namespace {

namespace fs = std::filesystem;
using base::ErrorKind;

// Keeps the rows of each part of a forward pass, those of later chunks behind those of earlier ones.
class RowCollector : public models::ForwardObserver {
 public:
  struct Rows {
    std::size_t width = 0;
    std::vector<float> values;
  };

  void on_values(std::string_view name, std::span<const float> values, std::size_t width) override {
    Rows& rows = rows_[std::string(name)];
    rows.width = width;
    rows.values.insert(rows.values.end(), values.begin(), values.end());
  }
  const std::map<std::string, Rows>& rows() const { return rows_; }

 private:
  std::map<std::string, Rows> rows_;
};

void check_memory(const models::ModelConfig& config, std::size_t num_tokens, std::size_t chunk,
                  std::size_t available_bytes) {
  const std::size_t row_floats = (config.num_layers + 3) * config.hidden_size + config.vocab_size;
  const std::size_t needed = sizeof(float) * (num_tokens * row_floats + chunk * config.vocab_size);
  if (needed <= available_bytes) return;
  throw base::Exception(ErrorKind::kNoMemory,
                        fmt::format("--dump: the values of {} tokens take {}, but {} are available; shorten the prompt",
                                    num_tokens, hub::format_bytes(needed), hub::format_bytes(available_bytes)));
}

void write_ids(const fs::path& folder, const std::vector<TokenId>& prompt) {
  const std::vector<std::int64_t> ids(prompt.begin(), prompt.end());
  tensor::write_npy(folder / "input_ids.npy",
                    {tensor::DType::kI64, {ids.size()}, reinterpret_cast<const std::byte*>(ids.data())})
      .value_or_throw();
}

}  // namespace

void dump_tensors(const models::Model& model, const std::vector<TokenId>& prompt, const fs::path& folder,
                  const DumpSettings& settings) {
  const std::size_t chunk = std::min(settings.max_chunk_tokens, prompt.size());
  check_memory(model.config(), prompt.size(), chunk, settings.available_bytes);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw base::Exception(ErrorKind::kIo, "--dump " + folder.string() + ": " + error.message());
  RowCollector collector;
  models::SequencePass pass(model, {prompt.size(), chunk, chunk}, prompt.size(), settings.kv_type);
  const std::span<const TokenId> ids = prompt;
  for (std::size_t first = 0; first < ids.size(); first += chunk) {
    const auto part = ids.subspan(first, std::min(chunk, ids.size() - first));
    pass.append(part, part.size(), &collector);
  }
  write_ids(folder, prompt);
  for (const auto& [name, rows] : collector.rows()) {
    const tensor::TensorView view{tensor::DType::kF32,
                                  {rows.values.size() / rows.width, rows.width},
                                  reinterpret_cast<const std::byte*>(rows.values.data())};
    tensor::write_npy(folder / (name + ".npy"), view).value_or_throw();
  }
}

}  // namespace vitrine::cli
