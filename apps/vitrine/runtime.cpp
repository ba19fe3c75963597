#include "vitrine/runtime.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/cpu_placement.h"
#include "models/registry.h"
#include "plan/network.h"
#include "tools/hub/environment.h"
#include "tools/hub/store.h"
#include "tools/machine.h"
#include "vitrine/backend_choice.h"
#include "vitrine/memory_plan.h"
#include "vitrine/roof.h"

namespace vitrine::cli {
namespace {

using backends::cpu::CpuBackend;
using base::ErrorKind;
using trace::ScopedSpan;
using trace::Stage;

// What all files of packed weights take together; VITRINE_REPACK_CACHE says another size, 0 for none.
// Longer than it takes a program to send its next request, far shorter than a person takes to write one.
constexpr std::chrono::milliseconds kSettleDelay{50};

constexpr std::size_t kRepackCacheBytes = std::size_t{10} << 30U;

std::optional<backends::cpu::PackedCache> packed_cache(const RuntimeFlags& flags, const loader::WeightSource& weights) {
  if (flags.no_repack_cache || flags.reference) return std::nullopt;
  const std::string wanted = hub::environment("VITRINE_REPACK_CACHE");
  if (wanted == "0") return std::nullopt;
  const std::size_t limit =
      wanted.empty() ? kRepackCacheBytes : parse_bytes(wanted, "VITRINE_REPACK_CACHE").value_or_throw();
  const auto store = hub::Store::from_environment();
  if (!store) return std::nullopt;
  return backends::cpu::PackedCache{store.value().root() / "packed", weights.identity(), limit};
}

std::unique_ptr<CpuBackend> make_backend(const RuntimeFlags& flags, const loader::WeightSource& weights) {
  const BackendChoice choice = choose_backend(flags);
  if (!choice.numa_nodes.empty()) base::interleave_memory(choice.numa_nodes);
  return std::make_unique<CpuBackend>(CpuBackend::Options{.isa = choice.isa,
                                                          .num_threads = choice.num_threads,
                                                          .pinned_cpus = choice.pinned_cpus,
                                                          .paths = choice.paths,
                                                          .cache = packed_cache(flags, weights)});
}

}  // namespace

Runtime::Runtime(const std::string& path, const RuntimeFlags& flags, trace::Timeline& timeline) {
  const ScopedSpan span(timeline, Stage::kLoad);
  {
    const ScopedSpan open(timeline, Stage::kLoad, span.id(), "open_files");
    bundle_ = tools::open_model(path).value_or_throw();
  }
  load(flags, timeline, span.id());
}

Runtime::Runtime(tools::ModelBundle bundle, const RuntimeFlags& flags) : bundle_(std::move(bundle)) {
  trace::Timeline timeline;
  load(flags, timeline, {});
}

void Runtime::load(const RuntimeFlags& flags, trace::Timeline& timeline, trace::SpanId span) {
  warnings_ = bundle_.notes;
  try {
    load_parts(flags, timeline, span);
  } catch (const base::Exception& exception) {
    if (exception.error().kind != ErrorKind::kBadFile) throw;
    throw base::Exception(ErrorKind::kBadFile, bundle_.path.string() + ": " + exception.error().message);
  }
}

void Runtime::load_parts(const RuntimeFlags& flags, trace::Timeline& timeline, trace::SpanId span) {
  const std::size_t available_bytes = tools::read_machine().available_memory_bytes;
  engine::EngineConfig config = plan_engine(flags, std::min(available_bytes, flags.memory_bytes));
  {
    ScopedSpan weights(timeline, Stage::kLoad, span, "load_weights");
    backend_ = make_backend(flags, bundle_.weights());
    model_ = models::load_model(bundle_.files, *backend_).value_or_throw();
    backend_->finish_loading();
    ledger_.add(base::MemoryKind::kWeights, model_->weight_bytes() + model_->table_bytes());
    weights.annotate("bytes", trace::size_attribute(model_->weight_bytes()));
    weights.annotate("bytes_from_cache", trace::size_attribute(backend_->weight_bytes_from_cache()));
  }
  ScopedSpan engine(timeline, Stage::kLoad, span, "create_engine");
  create_engine(std::move(config));
  engine.annotate("context_length", trace::size_attribute(engine_->config().context_length));
  engine.annotate("kv_blocks", trace::size_attribute(engine_->stats().num_blocks));
}

engine::EngineConfig Runtime::plan_engine(const RuntimeFlags& flags, std::size_t available_bytes) {
  const MemoryPlan plan = plan_memory(MemoryNeed(bundle_.files, flags), flags, available_bytes);
  engine::EngineConfig config;
  config.kv_type = plan.kv_type;
  config.context_length = plan.context_length;
  config.kv_memory_bytes = plan.kv_bytes;
  config.max_sequences = flags.max_sequences;
  config.max_chunk_tokens = plan::max_prompt_rows(flags.max_chunk_tokens, plan.context_length, flags.max_sequences);
  config.prefix_cache = !flags.no_prefix_cache;
  config.settle_answers = flags.settle_answers;
  config.settle_delay = kSettleDelay;
  config.publish_answers = flags.publish_answers;
  config.static_batches = flags.static_batches;
  config.kv_cache = !flags.no_kv_cache;
  config.contiguous_kv = flags.contiguous_kv;
  config.target_gap_s = 1e-3 * static_cast<double>(flags.target_gap_ms);
  if (flags.context_length == 0 && plan.context_length < plan.model_context_length) {
    warnings_.push_back(fmt::format("context: memory holds {} tokens of the model's {}; --kv-type q8_0 holds more",
                                    plan.context_length, plan.model_context_length));
  }
  return config;
}

void Runtime::create_engine(engine::EngineConfig config) {
  config.prefix_seed = fmt::format("{}|{}|{}", bundle_.path.string(), backends::cpu::isa_name(backend_->isa()),
                                   backend_->paths().name());
  engine_ = engine::Engine::create(*model_, std::move(config), ledger_).value_or_throw();
}

const tokenizer::Tokenizer& Runtime::tokenizer() const {
  if (bundle_.tokenizer == nullptr) {
    throw base::Exception(ErrorKind::kBadFile,
                          bundle_.path.string() + ": the model brings no tokenizer; give token ids with --ids");
  }
  return *bundle_.tokenizer;
}

std::vector<std::string> Runtime::kernels() const {
  std::map<std::string_view, std::size_t> bytes;
  for (const auto& tensor : bundle_.weights().tensors())
    bytes[tensor::dtype_info(tensor.view.type).name] += tensor.view.size_bytes();
  std::vector<std::string> types;
  for (const auto& [name, size] : bytes)
    types.push_back(fmt::format("{} {:.1f} MB", name, static_cast<double>(size) / 1e6));
  return {fmt::format("{} on {} threads", backends::cpu::isa_name(backend_->isa()), backend_->num_threads()),
          "paths " + backend_->paths().name(), fmt::format("weights in the file: {}", fmt::join(types, ", "))};
}

explain::Roof Runtime::measure_roof() const {
  const BackendChoice choice{
      .isa = backend_->isa(), .paths = backend_->paths(), .num_threads = backend_->num_threads()};
  const plan::Network network = plan::network_of(bundle_.files, *choice.memory());
  return cli::measure_roof(choice, plan::usual_type(network), model_->weight_bytes());
}

std::vector<TokenId> Runtime::end_tokens() const {
  if (bundle_.tokenizer == nullptr) return {};
  const auto ids = bundle_.tokenizer->end_of_generation();
  return {ids.begin(), ids.end()};
}

void Runtime::note_scratch() {
  const std::size_t now = backend_->scratch_bytes();
  ledger_.add(base::MemoryKind::kScratch, now - noted_scratch_bytes_);
  noted_scratch_bytes_ = now;
}

}  // namespace vitrine::cli
