#include "chat/chat_template.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "chat/continuation.h"
#include "chat/json_text.h"
#include "vitrine_bridge.h"

namespace vitrine::chat {
namespace {

using Json = nlohmann::ordered_json;

// Takes the bytes over as a string.
std::string take(VitrineBytes bytes) {
  std::string text(bytes.data, bytes.size);
  vitrine_bytes_free(&bytes);
  return text;
}

base::Error template_error(base::ErrorKind kind, const std::string& message) {
  return {kind, "chat template: " + message};
}

base::ErrorKind kind_of(VitrineStatus status) {
  switch (status) {
    case VITRINE_SYNTAX:
    case VITRINE_LIMIT:
      return base::ErrorKind::kBadFile;
    case VITRINE_BAD_INPUT:
    case VITRINE_RENDER:
      return base::ErrorKind::kUsage;
    default:
      return base::ErrorKind::kInternal;
  }
}

base::Result<void> check_request(const RenderRequest& request) {
  if (!request.messages.is_array()) return base::usage_error("messages: must be an array");
  if (!request.variables.is_null() && !request.variables.is_object()) {
    return base::usage_error("template variables: must be a JSON object");
  }
  if (request.continue_final_message && request.add_generation_prompt.value_or(false)) {
    return base::usage_error(
        "add_generation_prompt: cannot be true together with continue_final_message; leave one of them out");
  }
  return {};
}

// The variables as transformers names them; tools and documents exist (as None) even if the request has none.
Json variables_of(const RenderRequest& request) {
  Json variables = Json::object();
  variables["documents"] = nullptr;
  if (request.variables.is_object()) variables.update(request.variables);
  variables["messages"] = request.messages;
  variables["tools"] = request.tools;
  variables["add_generation_prompt"] = request.add_generation_prompt.value_or(!request.continue_final_message);
  return variables;
}

VitrineTime bridge_time(const LocalTime& time) {
  return {time.year, time.month, time.day, time.hour, time.minute, time.second};
}

base::Result<std::string> render_text(const VitrineTemplate* compiled, const Json& variables, const LocalTime& now) {
  const auto text = dump_json(variables, "messages");
  if (!text) return text.error();
  const VitrineTime time = bridge_time(now);
  VitrineBytes output{};
  const VitrineStatus status = vitrine_template_render(compiled, text->data(), text->size(), &time, &output);
  std::string rendered = take(output);
  if (status != VITRINE_OK) return template_error(kind_of(status), rendered);
  return rendered;
}

}  // namespace

void ChatTemplate::Free::operator()(VitrineTemplate* compiled) const {
  vitrine_template_free(compiled);
}

base::Result<ChatTemplate> ChatTemplate::compile(std::string_view source, const TemplateLimits& limits) {
  const VitrineTemplateLimits bridge_limits{limits.num_steps, limits.depth, limits.source_bytes, limits.output_bytes};
  VitrineTemplate* compiled = nullptr;
  VitrineBytes error{};
  const VitrineStatus status =
      vitrine_template_compile(source.data(), source.size(), &bridge_limits, &compiled, &error);
  const std::string message = take(error);
  if (status == VITRINE_OK) return ChatTemplate(compiled);
  return template_error(status == VITRINE_PANIC ? base::ErrorKind::kInternal : base::ErrorKind::kBadFile, message);
}

base::Result<std::string> ChatTemplate::render(const RenderRequest& request) const {
  if (auto checked = check_request(request); !checked) return checked.error();
  Json variables = variables_of(request);
  const LocalTime now = request.now ? *request.now : LocalTime::now();
  if (!request.continue_final_message) return render_text(compiled_.get(), variables, now);
  if (auto marked = mark_final_message(variables["messages"]); !marked) return marked.error();
  const auto rendered = render_text(compiled_.get(), variables, now);
  if (!rendered) return rendered.error();
  return cut_at_mark(*rendered);
}

base::Result<void> RenderRequest::apply_options(const Json& options) {
  if (!options.is_object()) return base::usage_error("options: must be a JSON object");
  if (variables.is_null()) variables = Json::object();
  for (const auto& [name, value] : options.items()) {
    const bool is_switch = name == "add_generation_prompt" || name == "continue_final_message";
    if (is_switch && !value.is_boolean())
      return base::usage_error(fmt::format("options.{}: must be true or false", name));
    if (name == "messages") return base::usage_error("options.messages: must be given as the messages");
    if (name == "add_generation_prompt") {
      add_generation_prompt = value.get<bool>();
    } else if (name == "continue_final_message") {
      continue_final_message = value.get<bool>();
    } else if (name == "tools") {
      tools = value;
    } else {
      variables[name] = value;
    }
  }
  return {};
}

base::Result<void> ChatTemplate::dry_run() const {
  RenderRequest request;
  request.messages.push_back({{"role", "user"}, {"content", "Hello"}});
  const auto rendered = render(request);
  if (!rendered && rendered.error().kind == base::ErrorKind::kBadFile) return rendered.error();
  return {};
}

}  // namespace vitrine::chat
