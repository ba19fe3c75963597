#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "plan/report.h"
#include "tools/hub/files.h"
#include "tools/machine.h"
#include "tools/open_model.h"
#include "vitrine/backend_choice.h"
#include "vitrine/commands/commands.h"
#include "vitrine/models.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"
#include "vitrine/plan_report.h"

namespace vitrine::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxShownBytes = 200;

std::string number_text(const loader::MetadataValue& value) {
  if (const auto number = value.as_int()) return std::to_string(*number);
  if (const auto number = value.as_uint()) return std::to_string(*number);
  if (const auto number = value.as_float()) return fmt::format("{:g}", *number);
  if (const auto flag = value.as_bool()) return *flag ? "true" : "false";
  return "?";
}

std::string array_text(const loader::MetadataValue& value) {
  return fmt::format("[{} x {}]", value.count, loader::metadata_type_name(value.element_type));
}

std::string value_text(const loader::MetadataValue& value) {
  if (value.is_array()) return array_text(value);
  const auto text = value.as_string();
  if (!text) return number_text(value);
  return text->size() <= kMaxShownBytes ? std::string(*text) : fmt::format("({} bytes of text)", text->size());
}

Json special_ids(const tokenizer::Tokenizer& tokens) {
  Json special = Json::object();
  const auto add = [&](const char* name, std::optional<TokenId> id) {
    if (id) special[name] = *id;
  };
  add("bos", tokens.bos());
  add("eos", tokens.eos());
  add("unk", tokens.unk());
  add("pad", tokens.pad());
  special["end_of_generation"] = tokens.end_of_generation();
  return special;
}

Json tokenizer_json(const tokenizer::Tokenizer* tokens) {
  if (tokens == nullptr) return nullptr;
  return {{"kind", tokens->kind()}, {"vocab_size", tokens->vocab_size()}, {"special", special_ids(*tokens)}};
}

Json tensors_json(const loader::WeightSource& weights) {
  Json rows = Json::array();
  for (const loader::NamedTensor& tensor : weights.tensors()) {
    const auto dims = tensor.view.shape.dims();
    rows.push_back({{"name", tensor.name},
                    {"shape", std::vector<std::size_t>(dims.begin(), dims.end())},
                    {"type", tensor::dtype_info(tensor.view.type).name},
                    {"bytes", tensor.view.size_bytes()}});
  }
  return rows;
}

// One sequence as long as the model's own context, in f16, as `run` has it without flags.
plan::PlanRow plan_own_context(const plan::PlanSubject& subject, const ops::MemoryModel& backend,
                               std::size_t num_threads, const tools::Machine& machine) {
  const plan::PlanQuestion question{.context_lengths = {subject.network.config.context_length},
                                    .batches = {1},
                                    .kv_types = {tensor::DType::kF16},
                                    .num_threads = num_threads,
                                    .available_bytes = machine.available_memory_bytes};
  return plan::plan_rows(subject.network, backend, question).front();
}

struct OwnPlan {
  plan::PlanSubject subject;
  plan::PlanRow row;
};

// Absent, with `why_not`, for a file that is no model that Vitrine runs, such as a vocabulary alone.
std::optional<OwnPlan> find_own_plan(const tools::ModelLocation& location, const tools::ModelBundle& model,
                                     const tools::Machine& machine, std::string& why_not) {
  const BackendChoice backend = choose_backend({});
  const std::unique_ptr<ops::MemoryModel> memory = backend.memory();
  try {
    plan::PlanSubject subject{location.name, location.path.string(), "", plan::network_of(model.files, *memory)};
    plan::PlanRow row = plan_own_context(subject, *memory, backend.num_threads, machine);
    return OwnPlan{std::move(subject), std::move(row)};
  } catch (const base::Exception& error) {
    why_not = error.what();
    return std::nullopt;
  }
}

Json model_json(const tools::ModelBundle& model, const std::optional<OwnPlan>& plan) {
  const tools::ModelFacts facts = tools::facts_of(model.files);
  return {{"architecture", facts.architecture},
          {"parameters", facts.num_parameters},
          {"file_bytes", model.weights().file_bytes()},
          {"context_length", facts.context_length ? Json(*facts.context_length) : Json()},
          {"tensors", tensors_json(model.weights())},
          {"tokenizer", tokenizer_json(model.tokenizer.get())},
          {"chat_template", model.chat_template ? Json(*model.chat_template) : Json()},
          {"plan", plan ? plan::to_json(plan->row) : Json()}};
}

class ShowCommand final : public Command {
 public:
  explicit ShowCommand(const Parser& parser) {
    parser.add("model", model_, "A catalog name, a file or folder, or hf:ORG/REPO[:FILE]").required();
    parser.add_switch("--template", wants_template_, "Print the chat template and nothing else");
  }

  int run(Context& context) override {
    const Models models;
    const tools::ModelLocation location = models.find(model_);
    const tools::ModelBundle model = tools::open_model(location.path).value_or_throw();
    for (const std::string& note : model.notes)
      print_note(context, note);
    if (wants_template_) {
      print_template(model, context);
    } else {
      show(location, model, context);
    }
    return 0;
  }

 private:
  static void print_note(const Context& context, const std::string& note) {
    if (!context.flags.quiet) context.err.print("note: " + printable(note) + "\n");
  }

  static void show(const tools::ModelLocation& location, const tools::ModelBundle& model, Context& context) {
    const tools::Machine machine = tools::read_machine();
    std::string why_not;
    const std::optional<OwnPlan> plan = find_own_plan(location, model, machine, why_not);
    if (!plan) print_note(context, "no memory plan: " + why_not);
    if (context.flags.json) return print_json(context, model_json(model, plan));
    print_facts(model, context.out);
    print_metadata(model, context.out);
    print_tensors(model, context.out);
    if (!plan) return;
    context.out.print("\n");
    print_plan({plan->subject, {plan->row}, {}}, machine, context.out);
  }

  static void print_template(const tools::ModelBundle& model, const Context& context) {
    if (!model.chat_template) {
      throw base::Exception(base::ErrorKind::kMissing,
                            model.path.string() + ": no chat template in it; give one with --chat-template FILE");
    }
    context.out.print(*model.chat_template);
  }

  static void print_facts(const tools::ModelBundle& model, const Terminal& out) {
    const tools::ModelFacts facts = tools::facts_of(model.files);
    const auto line = [&](std::string_view name, std::string_view value) {
      out.print(fmt::format("{} {}\n", out.bold(fmt::format("{:<14}", name)), printable(value)));
    };
    line("file", model.path.string());
    line("architecture", facts.architecture.empty() ? "(not stated)" : facts.architecture);
    line("parameters", fmt::format("{}", facts.num_parameters));
    line("size", hub::format_bytes(model.weights().file_bytes()));
    line("context", facts.context_length ? fmt::format("{} tokens", *facts.context_length) : "(not stated)");
    line("tokenizer", tokenizer_line(model.tokenizer.get()));
    line("chat template",
         model.chat_template ? fmt::format("{} bytes (--template prints it)", model.chat_template->size()) : "none");
  }

  static std::string tokenizer_line(const tokenizer::Tokenizer* tokens) {
    if (tokens == nullptr) return "none";
    std::string line = fmt::format("{}, {} tokens", tokens->kind(), tokens->vocab_size());
    if (const auto id = tokens->bos()) line += fmt::format(", bos {} {}", *id, tokens->piece(*id));
    if (const auto id = tokens->eos()) line += fmt::format(", eos {} {}", *id, tokens->piece(*id));
    return line;
  }

  static void print_metadata(const tools::ModelBundle& model, const Terminal& out) {
    Table table{{"METADATA", "VALUE"}, {}, {}};
    if (const auto* gguf = std::get_if<loader::GgufModel>(&model.files)) {
      for (const loader::MetadataEntry& entry : gguf->metadata.entries()) {
        table.rows.push_back({std::string(entry.key), value_text(entry.value)});
      }
    } else {
      for (const auto& [key, value] : std::get<loader::HfModel>(model.files).config.items()) {
        table.rows.push_back({key, value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
      }
    }
    out.print("\n");
    print_table(out, table);
  }

  static void print_tensors(const tools::ModelBundle& model, const Terminal& out) {
    Table table{{"TENSOR", "SHAPE", "TYPE", "BYTES"}, {3}, {}};
    for (const loader::NamedTensor& tensor : model.weights().tensors()) {
      table.rows.push_back({tensor.name, tensor.view.shape.to_string(),
                            std::string(tensor::dtype_info(tensor.view.type).name),
                            std::to_string(tensor.view.size_bytes())});
    }
    out.print("\n");
    print_table(out, table);
  }

  std::string model_;
  bool wants_template_ = false;
};

}  // namespace

std::unique_ptr<Command> make_show(const Parser& parser) {
  return std::make_unique<ShowCommand>(parser);
}

}  // namespace vitrine::cli
