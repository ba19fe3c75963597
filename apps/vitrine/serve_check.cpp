#include "vitrine/serve_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "store/key_json.h"
#include "tools/hub/files.h"
#include "vitrine/output.h"
#include "vitrine/plan_tables.h"

namespace vitrine::cli {
namespace {

using nlohmann::ordered_json;

const char* prefix_cache_mode(const RuntimeFlags& flags) {
  if (flags.no_prefix_cache) return "off";
  return flags.publish_answers ? "fast" : "exact";
}

ordered_json model_json(const CheckedModel& model, const server::ServerOptions& options) {
  const RuntimeFlags& runtime = model.plan.flags;
  ordered_json json;
  json["name"] = model.offer.name;
  json["aliases"] = model.offer.aliases;
  json["path"] = model.plan.path.string();
  json["context_length"] = model.offer.context_length;
  json["planned_bytes"] = model.offer.planned_bytes;
  json["pinned"] = model.offer.is_pinned;
  json["kv_type"] = runtime.kv_type;
  json["kv_memory"] = runtime.kv_memory.empty() ? ordered_json() : ordered_json(runtime.kv_memory);
  json["prefix_cache"] = prefix_cache_mode(runtime);
  json["max_sequences"] = runtime.max_sequences;
  json["max_queue"] = model.offer.max_waiting.value_or(options.models.max_waiting);
  json["max_chunk_tokens"] = runtime.max_chunk_tokens;
  json["keep_alive_s"] = model.flags.keep_alive_s ? ordered_json(*model.flags.keep_alive_s) : ordered_json();
  json["chat_template"] = model.plan.chat_template.empty() ? ordered_json() : ordered_json(model.plan.chat_template);
  return json;
}

ordered_json check_json(const std::vector<CheckedModel>& models, const server::ServerOptions& options) {
  ordered_json json;
  for (const CheckedModel& model : models)
    json["models"].push_back(model_json(model, options));
  json["memory_bytes"] = options.models.memory_bytes;
  json["plans"] = ordered_json::object();
  for (const auto& [name, limits] : options.plans)
    json["plans"][name] = store::to_json(limits);
  return json;
}

std::string describe_model(const CheckedModel& model, bool is_first, const server::ServerOptions& options) {
  const RuntimeFlags& runtime = model.plan.flags;
  std::string text =
      fmt::format("{}: context {} tokens, at most {}{}{}\n", fmt::join(client_names(model.offer), ", "),
                  model.offer.context_length, hub::format_bytes(model.offer.planned_bytes),
                  model.offer.is_pinned ? ", stays loaded" : "", is_first ? ", loaded at the start" : "");
  text += fmt::format("  {}\n", model.plan.path.string());
  text += fmt::format("  KV cache {}{}, prefix cache {}; {} answers at once, {} may wait; {} prompt tokens a step",
                      runtime.kv_type, runtime.kv_memory.empty() ? "" : " in " + runtime.kv_memory,
                      prefix_cache_mode(runtime), runtime.max_sequences,
                      model.offer.max_waiting.value_or(options.models.max_waiting), runtime.max_chunk_tokens);
  if (model.flags.keep_alive_s) text += fmt::format("; unloaded after {} s", *model.flags.keep_alive_s);
  if (!model.plan.chat_template.empty()) text += "; chat template " + model.plan.chat_template;
  return text + "\n";
}

std::string describe_plan(const std::string& name, const store::KeyLimits& limits) {
  const std::string text = describe_limits(limits);
  return fmt::format("plan {}: {}\n", name, text.empty() ? "no limits" : text);
}

}  // namespace

std::vector<std::string> client_names(const server::ModelOffer& offer) {
  std::vector<std::string> names = {offer.name};
  names.insert(names.end(), offer.aliases.begin(), offer.aliases.end());
  return names;
}

void print_check(const Context& context, const std::vector<CheckedModel>& models,
                 const server::ServerOptions& options) {
  if (context.flags.json) return context.out.print(check_json(models, options).dump() + "\n");
  for (const CheckedModel& model : models)
    context.out.print(describe_model(model, &model == &models.front(), options));
  for (const auto& [name, limits] : options.plans)
    context.out.print(describe_plan(name, limits));
  context.out.print(
      fmt::format("memory for models: {}\nall is well\n", hub::format_bytes(options.models.memory_bytes)));
}

}  // namespace vitrine::cli
