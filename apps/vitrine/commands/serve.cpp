#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
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
#include "vitrine/engine_flags.h"
#include "vitrine/machine_report.h"
#include "vitrine/model_tables.h"
#include "vitrine/models.h"
#include "vitrine/plan_tables.h"
#include "vitrine/serve_check.h"
#include "vitrine/serve_plan.h"
#include "vitrine/served_runtime.h"
#include "vitrine/state_directory.h"

namespace vitrine::cli {
namespace {

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

void check_names(const std::vector<server::ModelOffer>& offers) {
  std::set<std::string> seen;
  for (const server::ModelOffer& offer : offers) {
    for (const std::string& name : client_names(offer)) {
      if (!seen.insert(name).second)
        throw base::Exception(
            base::usage_error(fmt::format("{}: two models of that name; give one another with NAME=MODEL", name)));
    }
  }
}

class ServeCommand final : public Command {
 public:
  explicit ServeCommand(const Parser& parser) {
    parser.add("model,-m,--model,--model-path", texts_,
               fmt::format("A catalog name, a file or folder, or hf:ORG/REPO[:FILE] (default {}); NAME=MODEL gives it "
                           "a name for clients. Of several the first is loaded at once, the others when they are "
                           "asked for",
                           kDefaultModel));
    add_address_flags(parser);
    add_log_flags(parser);
    add_engine_flags(parser, engine_flags_);
    add_model_flags(parser);
    parser.add_switch("--check", check_, "Read settings and models and say what would be served; load nothing")
        .group("Serving");
    parser
        .add_settings_file("--config", "VITRINE_SERVE",
                           "A TOML file of settings, such as port = 9000; what the command line or the environment "
                           "(VITRINE_SERVE_PORT) says counts first")
        .group("Serving");
  }

  int run(Context& context) override {
    store::KeyStore keys(required_state_path());
    options_.keys = &keys;
    if (usage_keep_days_) options_.usage_keep_days = static_cast<std::int64_t>(*usage_keep_days_);
    if (!prices_.empty()) options_.prices = cost::PriceTable(prices_);
    const auto otlp = otlp::read_otlp_settings(otlp_, VITRINE_VERSION).value_or_throw();
    std::vector<PlannedModel> plans = choose_models(context);
    std::vector<tools::ModelBundle> bundles = plan_models(plans, set_memory());
    set_planner();
    std::vector<server::ModelOffer> offers = offer_models(context, plans);
    if (check_) return report_check(context, plans, offers);
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
    parser
        .add("--usage-keep-days", usage_keep_days_,
             "Days after which what single requests used is deleted; the sums of days stay (default: never)")
        .between(1, 100'000)
        .group("Serving");
    parser.add_switch("--strict", options_.strict, "Refuse fields that no endpoint knows, in place of a warning")
        .group("Serving");
  }

  void add_model_flags(const Parser& parser) {
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
        .add_each_function(
            kModelsFlag, [this](const std::string& word) { take_model_row(word, tables_); },
            "NAME.SETTING=VALUE: what counts for the model of that name in place of what does for all, such as "
            "small.ctx=4096; also model, alias, pin; in a settings file a table [models.NAME]; may be repeated")
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

  // Names and places of what is to be served; fetches what is missing.
  std::vector<PlannedModel> choose_models(const Context& context) {
    if (texts_.empty() && !names_models()) texts_.emplace_back(kDefaultModel);
    if (texts_.size() > 1 && !name_.empty())
      throw base::Exception(base::usage_error("--name: with several models, write NAME=MODEL for each"));
    if (texts_.size() > 1 && !engine_flags_.chat_template.empty())
      throw base::Exception(
          base::usage_error("--chat-template: works with one model only; with several, say it in [models.NAME]"));
    const Models models;
    std::vector<PlannedModel> plans;
    for (const std::string& text : texts_)
      plans.push_back(choose_model(models, text, context));
    if (!name_.empty()) plans.front().name = name_;
    for (const auto& [name, table] : tables_) {
      if (!table.model.empty()) plans.push_back(choose_model(models, name + "=" + table.model, context));
    }
    for (const std::string& name : pinned_)
      find_named(plans, name, "--pin").is_pinned = true;
    for (const auto& [name, table] : tables_)
      find_named(plans, name, fmt::format("{} {}", kModelsFlag, name)).is_pinned |= table.is_pinned;
    for (PlannedModel& plan : plans) {
      const EngineFlags flags = flags_of(plan.name);
      naming_model(plan.name, plans.size() == 1, [&] { plan.flags = flags.resolved(); });
      plan.chat_template = flags.chat_template;
      is_fast_ = is_fast_ || plan.flags.publish_answers;
    }
    return plans;
  }

  // Whether a table says where its model is.
  bool names_models() const {
    return std::ranges::any_of(tables_, [](const auto& table) { return !table.second.model.empty(); });
  }

  // What counts for the model that clients know by this name.
  EngineFlags flags_of(const std::string& name) const {
    const auto table = tables_.find(name);
    return table == tables_.end() ? engine_flags_ : table->second.engine_flags(engine_flags_);
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
    return std::min(options_.models.memory_bytes, available);
  }

  void set_planner() {
    const BackendChoice backend = choose_backend(engine_flags_.runtime);
    options_.plan_machine = {.backend = backend.memory(),
                             .num_threads = backend.num_threads,
                             .max_chunk_tokens = engine_flags_.runtime.max_chunk_tokens,
                             .describe = [backend] { return machine_json(tools::read_machine(), backend); }};
  }

  std::vector<server::ModelOffer> offer_models(const Context& context, std::vector<PlannedModel>& plans) {
    auto aliases = read_aliases(aliases_, plans);
    std::vector<server::ModelOffer> offers;
    for (const PlannedModel& plan : plans) {
      const EngineFlags flags = flags_of(plan.name);
      if (const auto table = tables_.find(plan.name); table != tables_.end())
        std::ranges::copy(table->second.aliases, std::back_inserter(aliases[plan.name]));
      offers.push_back({.name = plan.name,
                        .aliases = aliases[plan.name],
                        .created = base::unix_time_s(),
                        .context_length = plan.context_length,
                        .max_sequences = plan.flags.max_sequences,
                        .planned_bytes = plan.bytes,
                        .is_pinned = plan.is_pinned,
                        .keep_alive = as_seconds(flags.keep_alive_s),
                        .max_waiting = flags.max_queue,
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

  static std::optional<std::chrono::seconds> as_seconds(const std::optional<std::size_t>& count) {
    return count ? std::optional(std::chrono::seconds(*count)) : std::nullopt;
  }

  // And those pinned: their faults show at the start. All three lists have the same order.
  void load_first(const Context& context, const std::vector<PlannedModel>& plans,
                  std::vector<tools::ModelBundle> bundles, std::vector<server::ModelOffer>& offers) {
    for (std::size_t i = 0; i < offers.size(); ++i) {
      if (i == 0 || offers[i].is_pinned) offers[i].loaded = load(context, plans[i], std::move(bundles[i]));
    }
  }

  // Nothing is loaded, and no port taken: a server may be running.
  int report_check(const Context& context, const std::vector<PlannedModel>& plans,
                   const std::vector<server::ModelOffer>& offers) const {
    server::Server::check(options_);
    std::vector<CheckedModel> models;
    for (std::size_t i = 0; i < plans.size(); ++i)
      models.push_back({plans[i], offers[i], flags_of(plans[i].name)});
    print_check(context, models, options_);
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
    if (is_fast_)
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
  std::string prices_;
  std::optional<std::size_t> usage_keep_days_;
  std::string memory_;
  std::string xray_memory_;
  std::string log_path_;
  std::optional<server::LogFormat> log_format_;
  std::vector<std::string> aliases_;
  std::vector<std::string> pinned_;
  std::size_t port_ = 8080;
  server::ServerOptions options_;
  EngineFlags engine_flags_;  // of all models
  ModelTables tables_;
  bool is_fast_ = false;  // a model shares answers as they were generated
  bool check_ = false;
  otlp::OtlpFlags otlp_;
  ServedRuntime::Shared shared_;
};

}  // namespace

std::unique_ptr<Command> make_serve(const Parser& parser) {
  return std::make_unique<ServeCommand>(parser);
}

}  // namespace vitrine::cli
