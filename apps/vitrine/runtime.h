#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "backends/cpu/cpu_backend.h"
#include "base/memory_ledger.h"
#include "engine/engine.h"
#include "models/model.h"
#include "tools/open_model.h"

namespace CLI {
class App;
}

namespace vitrine::cli {

// How a command wants its model to run, bound to flags by add_runtime_flags.
struct RuntimeFlags {
  std::size_t context_length = 0;  // 0: the model's own, or as much of it as memory allows
  std::size_t num_threads = 0;     // 0: all that this process may use
  std::string kv_type = "f16";
  std::string kv_memory;  // "4GiB"; empty: one sequence of context_length tokens
  std::size_t max_chunk_tokens = 512;
  bool reference = false;  // everything in plain float32
};
void add_runtime_flags(CLI::App& app, RuntimeFlags& flags);

// "512MiB", "4G", "1000000": bytes. Fails with kUsage.
base::Result<std::size_t> parse_bytes(const std::string& text, const std::string& flag);

// A model ready to answer: files, backend, weights and engine, in the order in which they must die. The only place
// that names a concrete backend. Used by one thread.
class Runtime {
 public:
  // Throws base::Exception: kNoMemory before anything is loaded where it would not fit, with what would.
  Runtime(const std::string& path, const RuntimeFlags& flags);

  const tools::ModelBundle& bundle() const { return bundle_; }
  // Throws (kBadFile) where the model brings none.
  const tokenizer::Tokenizer& tokenizer() const;
  const models::Model& model() const { return *model_; }
  const backends::cpu::CpuBackend& backend() const { return *backend_; }
  engine::Engine& engine() { return *engine_; }
  const base::MemoryLedger& ledger() const { return ledger_; }
  // Tokens after which an answer ends.
  std::vector<TokenId> end_tokens() const;
  double load_s() const { return load_s_; }
  // Refreshes the ledger's scratch entry, which grows with use.
  void note_scratch();

 private:
  void create_engine(const RuntimeFlags& flags, tensor::DType kv_type, std::size_t context_length);

  tools::ModelBundle bundle_;
  base::MemoryLedger ledger_;
  std::unique_ptr<backends::cpu::CpuBackend> backend_;
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<engine::Engine> engine_;
  std::size_t noted_scratch_bytes_ = 0;
  double load_s_ = 0.0;
};

}  // namespace vitrine::cli
