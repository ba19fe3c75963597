#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/unix_time.h"
#include "plan/network.h"
#include "server/server.h"
#include "store/key_json.h"
#include "store/key_store.h"
#include "tools/hub/files.h"
#include "tools/hub/http.h"
#include "tools/machine.h"
#include "tools/otlp/otlp_exporter.h"
#include "vitrine/commands/commands.h"
#include "vitrine/machine_report.h"
#include "vitrine/models.h"
#include "vitrine/plan_tables.h"
#include "vitrine/runtime_flags.h"
#include "vitrine/serve_plan.h"
#include "vitrine/served_runtime.h"
#include "vitrine/state_directory.h"

namespace vitrine::cli {
namespace {

constexpr std::size_t kMaxSequences = 32;

// A name that clients use, and what it stands for.
struct Naming {
  std::string name;
  std::string target;  // empty: not said
};

// "NAME=TARGET", or one of the two alone.
Naming split_naming(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos) return {text, ""};
  return {text.substr(0, sign), text.substr(sign + 1)};
}

PlannedModel& find_named(std::vector<PlannedModel>& models, const std::string& name, const std::string& flag) {
  const auto found = std::ranges::find(models, name, &PlannedModel::name);
  if (found != models.end()) return *found;
  std::vector<std::string> names;
  for (const PlannedModel& model : models)
    names.push_back(model.name);
  throw base::Exception(
      base::usage_error(fmt::format("{}: there is no model {}, but {}", flag, name, fmt::join(names, ", "))));
}

// Further names by model.
std::map<std::string, std::vector<std::string>> read_aliases(const std::vector<std::string>& texts,
                                                             std::vector<PlannedModel>& models) {
  std::map<std::string, std::vector<std::string>> aliases;
  for (const std::string& text : texts) {
    Naming naming = split_naming(text);
    const bool is_clear = !naming.target.empty() || (models.size() == 1 && text.find('=') == std::string::npos);
    if (naming.name.empty() || !is_clear)
      throw base::Exception(
          base::usage_error(fmt::format("--alias {}: write it as NAME={}", text, models.front().name)));
    if (naming.target.empty()) naming.target = models.front().name;
    aliases[find_named(models, naming.target, "--alias " + text).name].push_back(naming.name);
  }
  return aliases;
}

std::vector<std::string> names_of(const server::ModelOffer& offer) {
  std::vector<std::string> names = {offer.name};
  names.insert(names.end(), offer.aliases.begin(), offer.aliases.end());
  return names;
}

void check_names(const std::vector<server::ModelOffer>& offers) {
  std::set<std::string> seen;
  for (const server::ModelOffer& offer : offers) {
    for (const std::string& name : names_of(offer)) {
      if (!seen.insert(name).second)
        throw base::Exception(
            base::usage_error(fmt::format("{}: two models of that name; give one another with NAME=MODEL", name)));
    }
  }
}

class ServeCommand final : public Command {
 public:
  explicit ServeCommand(const Parser& parser) {
    runtime_flags_.max_sequences = kMaxSequences;
    runtime_flags_.settle_answers = true;
    parser.add("model,-m,--model,--model-path", texts_,
               fmt::format("A catalog name, a file or folder, or hf:ORG/REPO[:FILE] (default {}); NAME=MODEL gives it "
                           "a name for clients. Of several the first is loaded at once, the others when they are "
                           "asked for",
                           kDefaultModel));
    add_address_flags(parser);
    add_log_flags(parser);
    add_runtime_flags(parser, runtime_flags_);
    add_model_flags(parser);
    add_batch_flags(parser);
    add_mode_flags(parser);
    parser.add_switch("--check", check_, "Read settings and models and say what would be served; load nothing")
        .group("Serving");
    parser
        .add_settings_file("--config", "VITRINE_SERVE",
                           "A TOML file of settings, such as port = 9000; what the command line or the environment "
                           "(VITRINE_SERVE_PORT) says counts first")
        .group("Serving");
  }

  int run(Context& context) override {
    if (is_unbatched_) runtime_flags_.max_sequences = 1;
    if (runtime_flags_.contiguous_kv) turn_sharing_off();
    store::KeyStore keys(required_state_path());
    options_.keys = &keys;
    if (!prices_.empty()) options_.prices = cost::PriceTable(prices_);
    const auto otlp = otlp::read_otlp_settings(otlp_, VITRINE_VERSION).value_or_throw();
    std::vector<PlannedModel> plans = choose_models(context);
    std::vector<tools::ModelBundle> bundles = plan_models(plans, runtime_flags_, set_memory());
    shared_.chat_template = chat_template_;
    set_planner();
    std::vector<server::ModelOffer> offers = offer_models(context, plans);
    if (check_) return report_check(context, offers);
    load_first(context, plans, std::move(bundles), offers);
    const auto exporter = make_exporter(context, otlp);
    options_.exporter = exporter.get();
    return serve(context, std::move(offers));
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
    parser.add("--alias", aliases_, "NAME=MODEL: a further name of a model; may be repeated")
        .one_each()
        .group("Serving");
    parser
        .add("--allow-host", options_.allowed_hosts,
             "A further name that clients may call this server by; may be repeated")
        .one_each()
        .group("Serving");
    parser
        .add_each_function(
            "--plans", [this](const std::string& word) { take_plan_row(word, options_.plans); },
            "NAME.LIMIT=VALUE: limits that the keys of a plan have (`vitrine keys create --plan NAME`); in a settings "
            "file a table [plans.NAME]; may be repeated")
        .group("Serving");
    parser.add("--prices", prices_, "A TOML file with what a million tokens of each model cost, for `vitrine usage`")
        .group("Serving");
    parser.add_switch("--strict", options_.strict, "Refuse fields that no endpoint knows, in place of a warning")
        .group("Serving");
  }

  void add_model_flags(const Parser& parser) {
    parser.add("--chat-template", chat_template_, "A file to take in place of the model's own chat template");
    parser
        .add("--memory", memory_,
             "Memory for all models together, such as 16GiB (default: what is free); where it does not hold them all, "
             "the one that was used longest ago makes room")
        .group("Running");
    parser
        .add("--xray-memory", xray_memory_,
             "Memory for requests that are computed again to look into them (default 256MiB; 0: none is)")
        .group("Running");
    parser.add("--pin", pinned_, "A model that is loaded at the start and stays; may be repeated")
        .one_each()
        .group("Running");
    parser
        .add("--keep-alive", keep_alive_s_,
             "Seconds after which a model that nobody asks for is unloaded (default: never)")
        .between(1, 1'000'000'000)
        .group("Running");
  }

  void add_batch_flags(const Parser& parser) {
    parser
        .add("--max-sequences,--max-num-seqs,--parallel", runtime_flags_.max_sequences,
             fmt::format("Answers that are made at once; others wait (default {})", kMaxSequences))
        .between(1, 4096)
        .group("Running");
    parser
        .add("--max-queue", options_.models.max_waiting,
             fmt::format("Answers that may wait for their turn; more are refused with 503 (default {})",
                         options_.models.max_waiting))
        .between(0, 1'000'000)
        .group("Running");
    parser
        .add(
            "--itl-target", runtime_flags_.target_gap_ms,
            "Milliseconds between two tokens of an answer up to which others' long prompts may slow it (default: twice "
            "what it takes without them)")
        .between(0, 60000)
        .group("Running");
  }

  void add_mode_flags(const Parser& parser) {
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
            "before have ended; none: one answer after the other")
        .group("Running");
  }

  void add_log_flags(const Parser& parser) {
    parser
        .add_function(
            "--log-format", [this](const std::string& name) { set_log_format(name); },
            "A line for each request: text (default), json or off. No line holds a prompt, an answer or a key")
        .group("Serving");
    parser
        .add("--otlp-endpoint", otlp_.endpoint,
             "Send each finished request as OpenTelemetry spans to this OTLP receiver over HTTP, a URL such as "
             "http://127.0.0.1:4318 (/v1/traces is added); no text of prompts or answers is among them. Default: "
             "OTEL_EXPORTER_OTLP_ENDPOINT, if set")
        .group("Serving");
    parser.add("--otlp-header", otlp_.headers, "'NAME: VALUE': sent along to the receiver; may be repeated")
        .one_each()
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
    prefix_cache_mode_ = mode;
    runtime_flags_.no_prefix_cache = mode == "off";
    runtime_flags_.publish_answers = mode == "fast";
    runtime_flags_.settle_answers = mode == "exact";
  }

  // A run of blocks belongs to one request.
  void turn_sharing_off() {
    if (!prefix_cache_mode_.empty() && prefix_cache_mode_ != "off")
      throw base::Exception(
          base::usage_error(fmt::format("--kv-layout contiguous: there is nothing to share with --prefix-cache {}; "
                                        "leave one of them out",
                                        prefix_cache_mode_)));
    set_prefix_cache("off");
  }

  void set_batching(const std::string& mode) {
    if (mode != "continuous" && mode != "static" && mode != "none")
      throw base::Exception(base::ErrorKind::kUsage,
                            fmt::format("--batching {}: use continuous, static or none", mode));
    runtime_flags_.static_batches = mode == "static";
    is_unbatched_ = mode == "none";
  }

  // Names and places of what is to be served; fetches what is missing.
  std::vector<PlannedModel> choose_models(const Context& context) {
    if (texts_.empty()) texts_.emplace_back(kDefaultModel);
    if (texts_.size() > 1 && !name_.empty())
      throw base::Exception(base::usage_error("--name: with several models, write NAME=MODEL for each"));
    if (texts_.size() > 1 && !chat_template_.empty())
      throw base::Exception(base::usage_error("--chat-template: works with one model only"));
    const Models models;
    std::vector<PlannedModel> plans;
    for (const std::string& text : texts_)
      plans.push_back(choose_model(models, text, context));
    if (!name_.empty()) plans.front().name = name_;
    for (const std::string& name : pinned_)
      find_named(plans, name, "--pin").is_pinned = true;
    return plans;
  }

  PlannedModel choose_model(const Models& models, const std::string& text, const Context& context) const {
    Naming naming = split_naming(text);
    if (naming.target.empty() || std::filesystem::exists(text)) naming = {"", text};
    const tools::ModelLocation location =
        check_ ? models.find(naming.target) : models.find_or_pull(naming.target, context);
    if (naming.name.empty()) naming.name = location.stored ? location.name : location.path.stem().string();
    return {.name = naming.name, .path = location.path};
  }

  std::size_t set_memory() {
    const std::size_t available = tools::read_machine().available_memory_bytes;
    if (!xray_memory_.empty()) options_.xray_bytes = parse_bytes(xray_memory_, "--xray-memory").value_or_throw();
    options_.models.memory_bytes = memory_.empty() ? available : parse_bytes(memory_, "--memory").value_or_throw();
    if (keep_alive_s_) options_.models.keep_alive = std::chrono::seconds(*keep_alive_s_);
    return std::min(options_.models.memory_bytes, available);
  }

  void set_planner() {
    const BackendChoice backend = choose_backend(runtime_flags_);
    options_.plan_machine = {.backend = backend.memory(),
                             .num_threads = backend.num_threads,
                             .max_chunk_tokens = runtime_flags_.max_chunk_tokens,
                             .describe = [backend] { return machine_json(tools::read_machine(), backend); }};
  }

  std::vector<server::ModelOffer> offer_models(const Context& context, std::vector<PlannedModel>& plans) {
    auto aliases = read_aliases(aliases_, plans);
    std::vector<server::ModelOffer> offers;
    for (const PlannedModel& plan : plans) {
      offers.push_back({.name = plan.name,
                        .aliases = aliases[plan.name],
                        .created = base::unix_time_s(),
                        .context_length = plan.context_length,
                        .max_sequences = runtime_flags_.max_sequences,
                        .planned_bytes = plan.bytes,
                        .is_pinned = plan.is_pinned,
                        .network =
                            [path = plan.path, backend = options_.plan_machine.backend] {
                              const loader::ModelFiles files = loader::open_model_files(path).value_or_throw();
                              return plan::network_of(files, *backend);
                            },
                        .load = [this, &context,
                                 plan] { return load(context, plan, tools::open_model(plan.path).value_or_throw()); }});
    }
    check_names(offers);
    return offers;
  }

  // And those pinned: their faults show at the start. All three lists have the same order.
  void load_first(const Context& context, const std::vector<PlannedModel>& plans,
                  std::vector<tools::ModelBundle> bundles, std::vector<server::ModelOffer>& offers) {
    for (std::size_t i = 0; i < offers.size(); ++i) {
      if (i == 0 || offers[i].is_pinned) offers[i].loaded = load(context, plans[i], std::move(bundles[i]));
    }
  }

  // Nothing is loaded, and no port taken: a server may be running.
  int report_check(const Context& context, const std::vector<server::ModelOffer>& offers) const {
    server::Server::check(options_);
    nlohmann::ordered_json report;
    for (const server::ModelOffer& offer : offers)
      report["models"].push_back({{"name", offer.name},
                                  {"aliases", offer.aliases},
                                  {"context_length", offer.context_length},
                                  {"planned_bytes", offer.planned_bytes},
                                  {"pinned", offer.is_pinned}});
    report["memory_bytes"] = options_.models.memory_bytes;
    report["plans"] = nlohmann::ordered_json::object();
    for (const auto& [name, limits] : options_.plans)
      report["plans"][name] = store::to_json(limits);
    if (context.flags.json) {
      context.out.print(report.dump() + "\n");
      return 0;
    }
    for (const server::ModelOffer& offer : offers)
      context.out.print(fmt::format("{}: context {} tokens, at most {}{}{}\n", fmt::join(names_of(offer), ", "),
                                    offer.context_length, hub::format_bytes(offer.planned_bytes),
                                    offer.is_pinned ? ", stays loaded" : "",
                                    &offer == &offers.front() ? ", loaded at the start" : ""));
    for (const auto& [name, limits] : options_.plans) {
      const std::string text = describe_limits(limits);
      context.out.print(fmt::format("plan {}: {}\n", name, text.empty() ? "no limits" : text));
    }
    context.out.print(
        fmt::format("memory for models: {}\nall is well\n", hub::format_bytes(options_.models.memory_bytes)));
    return 0;
  }

  std::unique_ptr<server::LoadedModel> load(const Context& context, const PlannedModel& plan,
                                            tools::ModelBundle bundle) {
    auto model = std::make_unique<ServedRuntime>(plan, std::move(bundle), shared_);
    for (const std::string& warning : model->warnings())
      context.err.print(fmt::format("vitrine: {}\n", warning));
    return model;
  }

  // null: spans go nowhere.
  static std::unique_ptr<otlp::OtlpExporter> make_exporter(const Context& context,
                                                           const std::optional<otlp::OtlpSettings>& settings) {
    if (!settings) return nullptr;
    const auto report = [&context](const std::string& line) {
      context.err.print(fmt::format("vitrine: --otlp-endpoint: {}\n", line));
    };
    if (!context.flags.quiet)
      context.err.print(fmt::format("Spans of requests go to {}\n", hub::url_origin(settings->url)));
    return std::make_unique<otlp::OtlpExporter>(*settings, report);
  }

  int serve(const Context& context, std::vector<server::ModelOffer> offers) {
    options_.port = static_cast<unsigned short>(port_);
    options_.log = log_options(context.flags.quiet);
    const std::string names = list_names(offers);
    server::Server server(options_, std::move(offers));
    announce(context, server, names);
    const FaultReport::Listener listener(shared_.faults, server);
    server.run();
    if (const std::string fault = shared_.faults.fault(); !fault.empty())
      throw base::Exception(base::ErrorKind::kInternal, "engine: " + fault);
    return 0;
  }

  // As the user is told of them.
  static std::string list_names(const std::vector<server::ModelOffer>& offers) {
    std::vector<std::string> names;
    for (const server::ModelOffer& offer : offers)
      names.push_back(offer.loaded != nullptr ? offer.name : offer.name + " (when asked for)");
    return fmt::format("{}", fmt::join(names, ", "));
  }

  void announce(const Context& context, const server::Server& server, const std::string& names) const {
    if (context.flags.quiet) return;
    if (runtime_flags_.publish_answers)
      context.err.print("vitrine: --prefix-cache fast: a later turn may be answered with other bits than on its own\n");
    const std::string url = server.url();
    context.err.print(fmt::format("Serving {} at {}\n", names, url));
    const bool has_keys = server.num_keys() > 0;
    if (options_.unix_path.empty())
      context.err.print(fmt::format("OpenAI clients: base_url {}/v1, {}\n", url,
                                    has_keys ? "api_key as `vitrine keys create` showed it" : "any api_key"));
    context.err.print(has_keys
                          ? fmt::format("{} in use: `vitrine keys list`. Ctrl-C stops.\n",
                                        server.num_keys() == 1 ? "1 key" : fmt::format("{} keys", server.num_keys()))
                          : "No keys: everyone on this machine may use it. Ctrl-C stops.\n");
  }

  std::vector<std::string> texts_;
  std::string name_;
  std::string chat_template_;
  std::string prices_;
  std::string memory_;
  std::string xray_memory_;
  std::string log_path_;
  std::optional<server::LogFormat> log_format_;
  std::vector<std::string> aliases_;
  std::vector<std::string> pinned_;
  std::optional<std::size_t> keep_alive_s_;
  std::size_t port_ = 8080;
  server::ServerOptions options_;
  RuntimeFlags runtime_flags_;
  std::string prefix_cache_mode_;  // as it was given
  bool is_unbatched_ = false;
  bool check_ = false;
  otlp::OtlpFlags otlp_;
  ServedRuntime::Shared shared_;
};

}  // namespace

std::unique_ptr<Command> make_serve(const Parser& parser) {
  return std::make_unique<ServeCommand>(parser);
}

}  // namespace vitrine::cli
