#include "vitrine/tensor_dump.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/checked.h"
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

// One sequence that has the whole cache to itself.
class PromptPass {
 public:
  PromptPass(const models::Model& model, std::size_t num_tokens, std::size_t chunk, tensor::DType kv_type)
      : model_(model),
        num_tokens_(num_tokens),
        cache_(kvcache::KvCache::create(model.kv_shape(kv_type), base::ceil_div(num_tokens, kvcache::kBlockTokens))
                   .value_or_throw()),
        workspace_(model.make_workspace(chunk, chunk)) {
    for (std::size_t i = 0; i < cache_.num_blocks(); ++i)
      block_table_.push_back(static_cast<kvcache::BlockId>(i));
  }

  void append(std::span<const TokenId> ids, models::ForwardObserver& observer) {
    models::ForwardBatch batch;
    batch.token_ids.assign(ids.begin(), ids.end());
    batch.sequences.push_back({.first_row = 0,
                               .num_rows = ids.size(),
                               .first_position = num_computed_,
                               .prompt_tokens = num_tokens_,
                               .block_table = block_table_});
    for (std::size_t i = 0; i < ids.size(); ++i)
      batch.logit_rows.push_back(i);
    model_.forward(batch, cache_, *workspace_, &observer);
    num_computed_ += ids.size();
  }

 private:
  const models::Model& model_;
  std::size_t num_tokens_;
  std::size_t num_computed_ = 0;
  kvcache::KvCache cache_;
  std::unique_ptr<models::Workspace> workspace_;
  std::vector<kvcache::BlockId> block_table_;
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
  PromptPass pass(model, prompt.size(), chunk, settings.kv_type);
  const std::span<const TokenId> ids = prompt;
  for (std::size_t first = 0; first < ids.size(); first += chunk)
    pass.append(ids.subspan(first, std::min(chunk, ids.size() - first)), collector);
  write_ids(folder, prompt);
  for (const auto& [name, rows] : collector.rows()) {
    const tensor::TensorView view{tensor::DType::kF32,
                                  {rows.values.size() / rows.width, rows.width},
                                  reinterpret_cast<const std::byte*>(rows.values.data())};
    tensor::write_npy(folder / (name + ".npy"), view).value_or_throw();
  }
}

}  // namespace vitrine::cli
