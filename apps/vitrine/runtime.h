#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "base/memory_ledger.h"
#include "engine/engine.h"
#include "explain/report.h"
#include "models/model.h"
#include "tools/open_model.h"
#include "trace/timeline.h"
#include "vitrine/runtime_flags.h"

namespace vitrine::cli {

// A model ready to answer: files, backend, weights and engine, in the order in which they must die. The only place
// that names a concrete backend. Used by one thread.
class Runtime {
 public:
  // Throws base::Exception: kNoMemory before anything is loaded where it would not fit, with what would. `timeline`
  // gets the spans of loading; it is not kept.
  Runtime(const std::string& path, const RuntimeFlags& flags, trace::Timeline& timeline);
  // The same for a model that is open, whose loading nobody times.
  Runtime(tools::ModelBundle bundle, const RuntimeFlags& flags);

  const tools::ModelBundle& bundle() const { return bundle_; }
  // Throws (kBadFile) where the model brings none.
  const tokenizer::Tokenizer& tokenizer() const;
  const models::Model& model() const { return *model_; }
  const backends::cpu::CpuBackend& backend() const { return *backend_; }
  engine::Engine& engine() { return *engine_; }
  const base::MemoryLedger& ledger() const { return ledger_; }
  // How it computes, a line each for people: instruction set, numeric paths, types of the weights.
  std::vector<std::string> kernels() const;
  // Measures what this machine can do at most for this model; the engine should rest meanwhile.
  explain::Roof measure_roof() const;
  // Tokens after which an answer ends.
  std::vector<TokenId> end_tokens() const;
  // What a person should know about how it was loaded, a sentence each: notes of the files, a context cut to memory.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Refreshes the ledger's scratch entry, which grows with use.
  void note_scratch();

 private:
  // Of bundle_.
  void load(const RuntimeFlags& flags, trace::Timeline& timeline, trace::SpanId span);
  void load_parts(const RuntimeFlags& flags, trace::Timeline& timeline, trace::SpanId span);
  // The sizes of the engine: what is asked for, cut to what memory holds.
  engine::EngineConfig plan_engine(const RuntimeFlags& flags, std::size_t available_bytes);
  void create_engine(engine::EngineConfig config);

  tools::ModelBundle bundle_;
  base::MemoryLedger ledger_;
  std::unique_ptr<backends::cpu::CpuBackend> backend_;
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<engine::Engine> engine_;
  std::size_t noted_scratch_bytes_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace vitrine::cli
