#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/unix_time.h"
#include "engine/engine_thread.h"
#include "server/server.h"
#include "store/key_store.h"
#include "vitrine/commands/commands.h"
#include "vitrine/model_template.h"
#include "vitrine/models.h"
#include "vitrine/runtime.h"
#include "vitrine/runtime_flags.h"
#include "vitrine/state_directory.h"

namespace vitrine::cli {
namespace {

constexpr std::size_t kMaxSequences = 32;

// "gpt-4o-mini=smollm2-135m-instruct", or a name alone for the model that is served.
std::string alias_name(const std::string& text, const std::string& model) {
  const std::size_t sign = text.find('=');
  if (sign == 0 || text.empty() || (sign != std::string::npos && text.substr(sign + 1) != model)) {
    throw base::Exception(base::ErrorKind::kUsage, fmt::format("--alias {}: write it as NAME={}", text, model));
  }
  return text.substr(0, sign);
}

class ServeCommand final : public Command {
 public:
  explicit ServeCommand(const Parser& parser) {
    runtime_flags_.max_sequences = kMaxSequences;
    runtime_flags_.settle_answers = true;
    parser.add("model", model_,
               fmt::format("A catalog name, a file or folder, or hf:ORG/REPO[:FILE] (default {})", kDefaultModel));
    parser.add("-m,--model,--model-path", model_, "The same as the positional");
    add_address_flags(parser);
    add_log_flags(parser);
    parser.add("--chat-template", chat_template_, "A file to take in place of the model's own chat template");
    add_runtime_flags(parser, runtime_flags_);
    parser
        .add("--max-sequences,--max-num-seqs,--parallel", runtime_flags_.max_sequences,
             fmt::format("Answers that are made at once; others wait (default {})", kMaxSequences))
        .between(1, 4096)
        .group("Running");
    parser
        .add("--max-queue", options_.max_waiting,
             fmt::format("Answers that may wait for their turn; more are refused with 503 (default {})",
                         options_.max_waiting))
        .between(0, 1'000'000)
        .group("Running");
    parser
        .add(
            "--itl-target", runtime_flags_.target_gap_ms,
            "Milliseconds between two tokens of an answer up to which others' long prompts may slow it (default: twice "
            "what it takes without them)")
        .between(0, 60000)
        .group("Running");
    parser
        .add_function(
            "--prefix-cache", [this](const std::string& mode) { set_prefix_cache(mode); },
            "exact (default): what prompts have in common is computed once, answers when they come back in a "
            "prompt too; fast: answers are shared as they were generated, and the bits of a later turn then depend on "
            "how the conversation came about; off")
        .group("Running");
    parser
        .add_function(
            "--batching", [this](const std::string& mode) { set_batching(mode); },
            "continuous (default): answers begin and end at any step; static: a batch begins when all of the one "
            "before "
            "have ended; none: one answer after the other")
        .group("Running");
  }

  int run(Context& context) override {
    if (is_unbatched_) runtime_flags_.max_sequences = 1;
    store::KeyStore keys(required_state_path());
    options_.keys = &keys;
    if (!prices_.empty()) options_.prices = store::PriceTable(prices_);
    trace::Timeline timeline;
    const Models models;
    const tools::ModelLocation location = models.find_or_pull(model_, context);
    if (name_.empty()) name_ = location.stored ? location.name : location.path.stem().string();
    Runtime runtime(location.path.string(), runtime_flags_, timeline);
    for (const std::string& warning : runtime.warnings())
      context.err.print(fmt::format("vitrine: {}\n", warning));
    const auto chat_template = compile_template(runtime.bundle(), chat_template_);
    return serve(context, runtime, chat_template ? &*chat_template : nullptr);
  }

 private:
  void add_address_flags(const Parser& parser) {
    parser.add("--host", options_.host, "Address to listen on (default 127.0.0.1)").group("Serving");
    parser.add("--port", port_, "Port to listen on, 0 for any free one (default 8080)")
        .between(0, 65535)
        .group("Serving");
    parser.add("--unix", options_.unix_path, "Listen on this Unix domain socket in place of an address")
        .group("Serving");
    parser.add("--name,--served-model-name", name_, "Name of the model for clients").group("Serving");
    parser.add("--alias", aliases_, "NAME=MODEL: a further name of a model; may be repeated").group("Serving");
    parser
        .add("--allow-host", options_.allowed_hosts,
             "A further name that clients may call this server by; may be repeated")
        .group("Serving");
    parser.add("--prices", prices_, "A TOML file with what a million tokens of each model cost, for `vitrine usage`")
        .group("Serving");
    parser.add_switch("--strict", options_.strict, "Refuse fields that no endpoint knows, in place of a warning")
        .group("Serving");
  }

  void add_log_flags(const Parser& parser) {
    parser
        .add_function(
            "--log-format", [this](const std::string& name) { set_log_format(name); },
            "A line for each request: text (default), json or off. No line holds a prompt, an answer or a key")
        .group("Serving");
    parser.add("--log", log_path_, "Append the lines to this file (default: standard error)").group("Serving");
  }

  void set_log_format(const std::string& name) {
    log_format_ = server::parse_log_format(name);
    if (!log_format_)
      throw base::Exception(base::ErrorKind::kUsage, fmt::format("--log-format {}: use text, json or off", name));
  }

  // Who asks for quiet and names no log wants none.
  server::LogOptions log_options(bool is_quiet) const {
    const bool is_wanted = !is_quiet || !log_path_.empty();
    return {.format = log_format_.value_or(is_wanted ? server::LogFormat::kText : server::LogFormat::kOff),
            .path = log_path_};
  }

  void set_prefix_cache(const std::string& mode) {
    if (mode != "exact" && mode != "fast" && mode != "off")
      throw base::Exception(base::ErrorKind::kUsage, fmt::format("--prefix-cache {}: use exact, fast or off", mode));
    runtime_flags_.no_prefix_cache = mode == "off";
    runtime_flags_.publish_answers = mode == "fast";
    runtime_flags_.settle_answers = mode == "exact";
  }

  void set_batching(const std::string& mode) {
    if (mode != "continuous" && mode != "static" && mode != "none")
      throw base::Exception(base::ErrorKind::kUsage,
                            fmt::format("--batching {}: use continuous, static or none", mode));
    runtime_flags_.static_batches = mode == "static";
    is_unbatched_ = mode == "none";
  }

  server::ServedModel served_model(const Runtime& runtime, const chat::ChatTemplate* chat_template) const {
    server::ServedModel model;
    model.name = name_;
    for (const std::string& alias : aliases_)
      model.aliases.push_back(alias_name(alias, model.name));
    model.created = base::unix_time_s();
    model.tokenizer = runtime.bundle().tokenizer.get();
    model.chat_template = chat_template;
    model.special_tokens = runtime.bundle().special_tokens;
    model.end_tokens = runtime.end_tokens();
    return model;
  }

  int serve(Context& context, Runtime& runtime, const chat::ChatTemplate* chat_template) {
    server::ServedModel model = served_model(runtime, chat_template);
    std::unique_ptr<server::Server> server;  // outlives the engine's thread, which tells it of a fault
    std::string fault;
    engine::EngineThread engine(runtime.engine(), [&](const std::string& what) {
      fault = what;
      server->fail();
    });
    model.engine = &engine;
    options_.port = static_cast<unsigned short>(port_);
    options_.log = log_options(context.flags.quiet);
    const std::string name = model.name;
    std::vector<server::ServedModel> served;
    served.push_back(std::move(model));
    server = std::make_unique<server::Server>(options_, std::move(served));
    announce(context, *server, name);
    server->run();
    if (!fault.empty()) throw base::Exception(base::ErrorKind::kInternal, "engine: " + fault);
    return 0;
  }

  void announce(const Context& context, const server::Server& server, const std::string& name) const {
    if (context.flags.quiet) return;
    if (runtime_flags_.publish_answers)
      context.err.print("vitrine: --prefix-cache fast: a later turn may be answered with other bits than on its own\n");
    const std::string url = server.url();
    context.err.print(fmt::format("Serving {} at {}\n", name, url));
    const bool has_keys = server.num_keys() > 0;
    if (options_.unix_path.empty())
      context.err.print(fmt::format("OpenAI clients: base_url {}/v1, {}\n", url,
                                    has_keys ? "api_key as `vitrine keys create` showed it" : "any api_key"));
    context.err.print(has_keys
                          ? fmt::format("{} in use: `vitrine keys list`. Ctrl-C stops.\n",
                                        server.num_keys() == 1 ? "1 key" : fmt::format("{} keys", server.num_keys()))
                          : "No keys: everyone on this machine may use it. Ctrl-C stops.\n");
  }

  std::string model_ = kDefaultModel;
  std::string name_;
  std::string chat_template_;
  std::string prices_;
  std::string log_path_;
  std::optional<server::LogFormat> log_format_;
  std::vector<std::string> aliases_;
  std::size_t port_ = 8080;
  server::ServerOptions options_;
  RuntimeFlags runtime_flags_;
  bool is_unbatched_ = false;
};

}  // namespace

std::unique_ptr<Command> make_serve(const Parser& parser) {
  return std::make_unique<ServeCommand>(parser);
}

}  // namespace vitrine::cli
