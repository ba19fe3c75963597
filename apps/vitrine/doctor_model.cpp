#include "vitrine/doctor_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/generate.h"
#include "tools/doctor/tokenizer_checks.h"
#include "tools/gguf_vocabulary.h"
#include "tools/hub/files.h"
#include "tools/hub/sha256.h"
#include "tools/machine.h"
#include "vitrine/backend_choice.h"
#include "vitrine/memory_plan.h"
#include "vitrine/model_template.h"
#include "vitrine/models.h"
#include "vitrine/runtime.h"

namespace vitrine::cli {
namespace {

using doctor::Check;
using doctor::fail;
using doctor::ok;
using doctor::warn;

constexpr std::uint64_t kMostBytesRead = std::uint64_t{2} << 30U;  // without --full

// The digest of what was fetched, or that of the file as it lies there now.
std::string sha256_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  hub::Sha256 sha;
  std::vector<char> buffer(std::size_t{1} << 20U);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0)
    sha.update(std::as_bytes(std::span(buffer.data(), static_cast<std::size_t>(file.gcount()))));
  return sha.hex();
}

Check check_file(const tools::ModelLocation& location, const tools::ModelBundle& bundle, const DoctorOptions& options) {
  const tools::ModelFacts facts = tools::facts_of(bundle.files);
  const std::uint64_t size = bundle.weights().file_bytes();
  std::string detail = fmt::format("{}, {} parameters, {} tensors, {}", facts.architecture, facts.num_parameters,
                                   bundle.weights().tensors().size(), hub::format_bytes(size));
  const std::string wanted = location.stored ? location.stored->sha256 : "";
  if (wanted.empty() || (size > kMostBytesRead && !options.is_full)) return ok("file", detail);
  if (sha256_of(location.path) == wanted) return ok("file", detail + ", SHA-256 as when it was fetched");
  return fail("file", base::ErrorKind::kBadFile,
              location.path.string() + ": its SHA-256 is another than when it was fetched",
              fmt::format("vitrine rm {0} && vitrine pull {0}", location.name));
}

void add_notes(std::vector<Check>& checks, const tools::ModelBundle& bundle) {
  for (const std::string& note : bundle.notes)
    checks.push_back(warn("note", note, "none is needed where this is meant"));
}

void add_tokenizer(std::vector<Check>& checks, const tools::ModelBundle& bundle) {
  if (bundle.tokenizer == nullptr) {
    checks.push_back(warn("tokenizer", "the model brings none: it can be used by token ids only",
                          "put tokenizer.json beside the weights, or use a GGUF file that has one"));
    return;
  }
  checks.push_back(doctor::check_tokenizer(*bundle.tokenizer));
  const auto* gguf = std::get_if<loader::GgufModel>(&bundle.files);
  if (gguf == nullptr) return;
  const auto vocabulary = tools::read_gguf_vocabulary(gguf->metadata).value_or_throw();
  if (vocabulary)
    checks.push_back(
        doctor::check_llama_cpp(tools::facts_of(bundle.files).architecture, vocabulary->model, vocabulary->pre));
}

base::Result<std::string> render(const chat::ChatTemplate& compiled, const tools::ModelBundle& bundle,
                                 bool has_system) {
  chat::RenderRequest request;
  if (has_system) request.messages.push_back({{"role", "system"}, {"content", "Answer in one sentence."}});
  request.messages.push_back({{"role", "user"}, {"content", "Hello"}});
  request.variables = bundle.special_tokens;
  return compiled.render(request);
}

Check check_template(const tools::ModelBundle& bundle) {
  if (!bundle.chat_template) {
    return warn("chat_template", "the model brings none: it can complete texts, not chat",
                "give one with --chat-template FILE, or use the model's instruct version");
  }
  const auto compiled = chat::ChatTemplate::compile(*bundle.chat_template);
  if (!compiled)
    return fail("chat_template", compiled.error().kind, compiled.error().message,
                "give another with --chat-template FILE");
  const auto plain = render(*compiled, bundle, false);
  if (!plain)
    return fail("chat_template", base::ErrorKind::kBadFile, plain.error().message,
                "give another with --chat-template FILE");
  const auto with_system = render(*compiled, bundle, true);
  if (!with_system)
    return warn("chat_template", "it refuses system messages: " + with_system.error().message,
                "put such words into the first user message");
  return ok("chat_template", fmt::format("renders; {} bytes of Jinja", bundle.chat_template->size()));
}

std::string_view path_words(backends::cpu::NumericPath path) {
  switch (path) {
    case backends::cpu::NumericPath::kThroughput:
      return "bf16 products (throughput)";
    case backends::cpu::NumericPath::kPairs:
      return "bf16 products in pairs (attention alone)";
    case backends::cpu::NumericPath::kLatency:
      return "int8 products of quantised types, float32 of others (latency)";
    case backends::cpu::NumericPath::kReference:
      break;
  }
  return "float32 (reference)";
}

// The types of the matrices, most bytes first, and what multiplies them.
Check check_weights(const tools::ModelBundle& bundle, const BackendChoice& backend) {
  std::map<std::string_view, std::pair<std::size_t, std::uint64_t>> types;  // number, bytes
  for (const loader::NamedTensor& tensor : bundle.weights().tensors()) {
    auto& [count, bytes] = types[tensor::dtype_info(tensor.view.type).name];
    ++count;
    bytes += tensor.view.size_bytes();
  }
  std::vector<std::pair<std::uint64_t, std::string>> rows;
  for (const auto& [name, sums] : types)
    rows.emplace_back(sums.second, fmt::format("{} x {} ({})", sums.first, name, hub::format_bytes(sums.second)));
  std::ranges::sort(rows, std::greater{});
  std::vector<std::string> words;
  for (auto& [bytes, text] : rows)
    words.push_back(std::move(text));
  const std::string prompts(path_words(backend.paths.prompt));
  const std::string answers(path_words(backend.paths.generated));
  return ok("weights", fmt::format("{}; {}: {}", fmt::join(words, ", "), backends::cpu::isa_name(backend.isa),
                                   prompts == answers ? prompts : "prompts by " + prompts + ", answers by " + answers));
}

Check check_fit(const tools::ModelBundle& bundle, const RuntimeFlags& flags) {
  const std::size_t available = tools::read_machine().available_memory_bytes;
  try {
    const MemoryPlan plan = plan_memory(MemoryNeed(bundle.files, flags), flags, available);
    const std::string detail =
        fmt::format("takes {} of {} that are free, with {} tokens of context", hub::format_bytes(plan.total()),
                    hub::format_bytes(available), plan.context_length);
    if (plan.context_length >= plan.model_context_length) return ok("memory_fit", detail);
    return warn("memory_fit", fmt::format("{}, of the {} that the model has", detail, plan.model_context_length),
                "--kv-type q8_0 holds twice as many; `vitrine plan` shows all");
  } catch (const base::Exception& exception) {
    return fail("memory_fit", exception.error());
  }
}

// Keeps the logits of the last row that was computed.
class LogitsWatch final : public models::ForwardObserver {
 public:
  void on_values(std::string_view name, std::span<const float> values, std::size_t width) override {
    if (name == "logits") logits_.assign(values.end() - static_cast<std::ptrdiff_t>(width), values.end());
  }
  std::vector<float> take() { return std::exchange(logits_, {}); }

 private:
  std::vector<float> logits_;
};

// The logits after each of the prompts.
std::vector<std::vector<float>> compute_logits(const std::filesystem::path& path, const RuntimeFlags& flags) {
  constexpr std::array<std::string_view, 3> kPrompts = {"The capital of France is", "def add(a, b):\n    return",
                                                        "1, 2, 3, 4,"};
  trace::Timeline timeline;
  Runtime runtime(path.string(), flags, timeline);
  LogitsWatch watch;
  runtime.engine().set_observer(&watch);
  std::vector<std::vector<float>> all;
  for (const std::string_view prompt : kPrompts) {
    engine::Request request;
    request.prompt = {1, 2, 3, 4};
    if (runtime.bundle().tokenizer != nullptr)
      request.prompt =
          runtime.tokenizer().encode(prompt, {.parse_special = false, .add_special = true}).value_or_throw();
    request.max_tokens = 2;  // the second comes from a generated row
    request.sampling.temperature = 0.0F;
    request.ignore_eos = true;
    std::vector<float> first;
    const auto note = [&](const engine::TokenEvent& event) {
      if (!event.finish_reason) first = watch.take();
    };
    const auto answer = engine::generate(runtime.engine(), std::move(request), note, nullptr).value_or_throw();
    if (!answer.last.error.empty()) throw base::Exception(base::ErrorKind::kBadFile, answer.last.error);
    all.push_back(std::move(first));
  }
  runtime.engine().set_observer(nullptr);
  return all;
}

std::vector<double> log_probabilities(const std::vector<float>& logits) {
  const double highest = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float logit : logits)
    sum += std::exp(static_cast<double>(logit) - highest);
  std::vector<double> logs;
  for (const float logit : logits)
    logs.push_back(static_cast<double>(logit) - highest - std::log(sum));
  return logs;
}

// The Kullback-Leibler divergence in nats: what a reader of the second is surprised by in the first.
double divergence(const std::vector<float>& truth, const std::vector<float>& other) {
  const std::vector<double> p = log_probabilities(truth);
  const std::vector<double> q = log_probabilities(other);
  double sum = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i)
    sum += std::exp(p[i]) * (p[i] - q[i]);
  return sum;
}

Check compare_paths(const std::filesystem::path& path, RuntimeFlags flags) {
  constexpr double kFine = 0.02;
  constexpr double kBroken = 0.5;
  const auto fast = compute_logits(path, flags);
  flags.reference = true;
  const auto reference = compute_logits(path, flags);
  double worst = 0.0;
  for (std::size_t i = 0; i < fast.size(); ++i)
    worst = std::max(worst, divergence(reference[i], fast[i]));
  const std::string detail = fmt::format(
      "the fast paths against plain float32 on {} prompts: divergence at most {:.5f} nats", fast.size(), worst);
  if (worst <= kFine) return ok("self_check", detail);
  if (worst <= kBroken)
    return warn("self_check", detail,
                "answers may differ in quality: compare with --reference; a type of more bits is nearer");
  return fail(
      "self_check", base::ErrorKind::kInternal, detail,
      "please report it with the output of vitrine doctor; VITRINE_ISA=generic or --reference may help meanwhile");
}

Check check_paths(const tools::ModelBundle& bundle, RuntimeFlags flags, const DoctorOptions& options) {
  if (options.no_measure || (bundle.weights().file_bytes() > kMostBytesRead && !options.is_full))
    return ok("self_check", options.no_measure ? "left out" : "left out: a large model, see --full");
  flags.context_length = 64;
  flags.no_repack_cache = true;
  if (check_fit(bundle, flags).status == doctor::Status::kFail) return ok("self_check", "left out: it does not fit");
  try {
    return compare_paths(bundle.path, flags);
  } catch (const base::Exception& exception) {
    return fail("self_check", exception.error());
  }
}

}  // namespace

std::vector<Check> check_model(const std::string& model, const DoctorOptions& options) {
  std::optional<tools::ModelLocation> location;
  try {
    location = Models().find(model);
  } catch (const base::Exception& exception) {
    return {fail("file", exception.error())};
  }
  auto opened = tools::open_model(location->path);
  if (!opened) return {fail("file", opened.error())};
  const tools::ModelBundle& bundle = *opened;
  const RuntimeFlags flags;
  std::vector<Check> checks = {check_file(*location, bundle, options)};
  add_notes(checks, bundle);
  add_tokenizer(checks, bundle);
  checks.push_back(check_template(bundle));
  checks.push_back(check_weights(bundle, choose_backend(flags)));
  checks.push_back(check_fit(bundle, flags));
  checks.push_back(check_paths(bundle, flags, options));
  return checks;
}

}  // namespace vitrine::cli
