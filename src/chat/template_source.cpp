#include "chat/template_source.h"

#include <array>

#include "chat/json_text.h"

namespace vitrine::chat {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 7> kSpecialTokens{"bos_token", "eos_token", "unk_token", "sep_token",
                                                    "pad_token", "cls_token", "mask_token"};

const Json* string_member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto member = object.find(name);
  return member != object.end() && member->is_string() ? &*member : nullptr;
}

// A token is a string, or an object that holds it as `content`.
Json special_tokens(const Json& config) {
  Json tokens = Json::object();
  for (const char* name : kSpecialTokens) {
    const auto token = config.find(name);
    if (token == config.end()) continue;
    const Json* text = token->is_string() ? &*token : string_member(*token, "content");
    if (text != nullptr) tokens[name] = *text;
  }
  return tokens;
}

base::Result<std::string> named_template(const Json& templates) {
  for (const Json& entry : templates) {
    const Json* name = string_member(entry, "name");
    const Json* source = string_member(entry, "template");
    if (name != nullptr && source != nullptr && *name == "default") return source->get<std::string>();
  }
  return base::bad_file("tokenizer_config.json: chat_template has no entry named \"default\"");
}

}  // namespace

base::Result<TemplateSource> parse_tokenizer_config(std::string_view text) {
  const auto config = parse_json(text, "tokenizer_config.json");
  if (!config) return base::bad_file(config.error().message);
  if (!config->is_object()) return base::bad_file("tokenizer_config.json: must be a JSON object");
  TemplateSource result{{}, special_tokens(*config)};
  const auto source = config->find("chat_template");
  if (source == config->end() || source->is_null()) return result;
  if (source->is_string()) {
    result.source = source->get<std::string>();
    return result;
  }
  if (!source->is_array()) return base::bad_file("tokenizer_config.json: chat_template must be a string or an array");
  auto named = named_template(*source);
  if (!named) return named.error();
  result.source = *std::move(named);
  return result;
}

}  // namespace vitrine::chat
