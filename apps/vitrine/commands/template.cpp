#include <fmt/format.h>
#include <fmt/ranges.h>

#include "chat/chat_template.h"
#include "chat/json_text.h"
#include "chat/messages.h"
#include "chat/template_source.h"
#include "tools/hub/files.h"
#include "tools/open_model.h"
#include "vitrine/commands/commands.h"
#include "vitrine/models.h"
#include "vitrine/output.h"
#include "vitrine/parser.h"

namespace vitrine::cli {
namespace {

namespace fs = std::filesystem;
using base::ErrorKind;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxInputBytes = std::uint64_t{64} << 20;

// Where a prompt comes from: the template, its special tokens, and the tokenizer if there is one.
struct PromptSource {
  chat::TemplateSource chat;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
};

std::string read_input(const fs::path& path) {
  return hub::read_text(path, kMaxInputBytes).value_or_throw();
}

// What a file says is the file's fault, not that of the command line.
template <typename T>
T from_file(base::Result<T> result, const std::string& file_name) {
  if (!result) result.error() = base::bad_file(file_name + ": " + result.error().message);
  return std::move(result).value_or_throw();
}

Json read_json(const std::string& file_name) {
  return from_file(chat::parse_json(read_input(file_name), "the file"), file_name);
}

// tokenizer_config.json, with the tokenizer.json beside it.
PromptSource open_config(const fs::path& path) {
  PromptSource source{chat::parse_tokenizer_config(read_input(path)).value_or_throw(), nullptr};
  if (fs::exists(path.parent_path() / "tokenizer.json")) {
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    source.tokenizer = tools::open_tokenizer(folder).value_or_throw();
  }
  return source;
}

PromptSource open_bundle(const fs::path& path) {
  tools::ModelBundle model = tools::open_model(path).value_or_throw();
  return {{model.chat_template.value_or(""), std::move(model.special_tokens)}, std::move(model.tokenizer)};
}

PromptSource open_source(const std::string& word) {
  const fs::path path = word;
  if (!fs::is_regular_file(path)) return open_bundle(Models().find(word).path);
  if (path.extension() == ".json") return open_config(path);
  if (path.extension() == ".gguf") return open_bundle(path);
  return {{read_input(path), Json::object()}, nullptr};
}

class TemplateCommand final : public Command {
 public:
  explicit TemplateCommand(const Parser& parser) {
    parser.add("model", model_, "A model, a Jinja file or a tokenizer_config.json").required();
    parser.add("--messages", messages_, "A JSON file: an array of {\"role\": ..., \"content\": ...}").required();
    parser.add("--tools", tools_, "A JSON file: an array of tools");
    parser.add("--options", options_, "A JSON file: an object of template variables");
    parser.add("--special-tokens", special_tokens_, "A JSON file: an object such as {\"bos_token\": \"<s>\"}");
    parser.add("--now", now_, "The time that strftime_now prints, such as 2025-03-14T15:09:26");
    parser.add_switch("--no-generation-prompt", no_generation_prompt_, "Leave out the beginning of the answer");
    parser.add_switch("--ids", wants_ids_, "Print the token ids instead of the text");
  }

  int run(Context& context) override {
    const PromptSource source = open_source(model_);
    if (source.chat.source.empty()) {
      throw base::Exception(ErrorKind::kMissing, model_ + ": no chat template in it; give a Jinja file instead");
    }
    if (wants_ids_ && source.tokenizer == nullptr) {
      throw base::Exception(ErrorKind::kUsage, "--ids: " + model_ + " brings no tokenizer; name a model");
    }
    const auto compiled = from_file(chat::ChatTemplate::compile(source.chat.source), model_);
    const std::string text = from_file(compiled.render(make_request(source)), model_);
    print(context, text, token_ids(source, text));
    return 0;
  }

 private:
  chat::RenderRequest make_request(const PromptSource& source) const {
    chat::RenderRequest request;
    request.messages = from_file(chat::parse_messages(read_input(messages_)), messages_);
    request.variables = source.chat.special_tokens;
    if (!special_tokens_.empty()) from_file(request.apply_options(read_json(special_tokens_)), special_tokens_);
    if (!options_.empty()) from_file(request.apply_options(read_json(options_)), options_);
    if (!tools_.empty()) request.tools = read_json(tools_);
    if (no_generation_prompt_) request.add_generation_prompt = false;
    if (!now_.empty()) request.now = chat::LocalTime::parse(now_).value_or_throw();
    return request;
  }

  static std::optional<std::vector<TokenId>> token_ids(const PromptSource& source, const std::string& text) {
    if (source.tokenizer == nullptr) return std::nullopt;
    // The template writes the tokens that stand around a text itself.
    return source.tokenizer->encode(text, {.parse_special = true, .add_special = false}).value_or_throw();
  }

  void print(const Context& context, const std::string& text, const std::optional<std::vector<TokenId>>& ids) const {
    if (context.flags.json) {
      print_json(context, {{"text", text}, {"ids", ids ? Json(*ids) : Json()}});
    } else if (wants_ids_) {
      context.out.print(fmt::format("{}\n", fmt::join(*ids, ",")));
    } else {
      context.out.print(text);
    }
  }

  std::string model_;
  std::string messages_;
  std::string tools_;
  std::string options_;
  std::string special_tokens_;
  std::string now_;
  bool no_generation_prompt_ = false;
  bool wants_ids_ = false;
};

}  // namespace

std::unique_ptr<Command> make_template(const Parser& parser) {
  return std::make_unique<TemplateCommand>(parser);
}

}  // namespace vitrine::cli
