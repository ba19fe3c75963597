#include <utility>

#include "server/api_error.h"
#include "server/endpoints/endpoints.h"
#include "server/model_request.h"
#include "server/openai/chat_prompt.h"
#include "server/openai/fields.h"
#include "server/openai/text_prompts.h"
#include "server/traced_work.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

const tokenizer::Tokenizer& tokenizer_of(const ServedModel& model) {
  if (model.tokenizer == nullptr) throw bad_field("model", "it has no tokenizer");
  return *model.tokenizer;
}

std::vector<TokenId> encode(Fields& fields, const ServedModel& model) {
  if (fields.find("messages") != nullptr) return encode_chat_prompt(read_chat_prompt(fields, model), model);
  auto text = fields.text("prompt");
  if (!text) text = fields.text("content");
  if (!text) throw bad_field("prompt", "give a text, or messages", "missing_field");
  const tokenizer::EncodeOptions options{.parse_special = fields.flag("parse_special").value_or(true),
                                         .add_special = fields.flag("add_special_tokens").value_or(true)};
  auto ids = tokenizer_of(model).encode(*text, options);
  if (!ids) throw bad_field("prompt", ids.error().message);
  return *std::move(ids);
}

Json tokenize(Fields& fields, const ServedModel& model) {
  const std::vector<TokenId> ids = encode(fields, model);
  Json json;
  json["count"] = ids.size();
  json["max_model_len"] = model.engine->engine().max_total_tokens();
  json["tokens"] = ids;
  if (fields.flag("return_token_strs").value_or(false)) {
    Json& texts = json["token_strs"] = Json::array();
    for (const TokenId id : ids)
      texts.push_back(tokenizer_of(model).piece(id));
  }
  return json;
}

Json detokenize(Fields& fields, const ServedModel& model) {
  const Json* tokens = fields.find("tokens");
  if (tokens == nullptr) throw bad_field("tokens", "give an array of token ids", "missing_field");
  const std::vector<TokenId> ids = read_token_ids(*tokens, "tokens");
  for (const TokenId id : ids) {
    if (static_cast<std::size_t>(id) >= tokenizer_of(model).vocab_size())
      throw bad_field("tokens", "an id is not in the vocabulary");
  }
  Json json;
  json["prompt"] = tokenizer_of(model).decode(ids);
  return json;
}

Json apply_template(Fields& fields, const ServedModel& model) {
  Json json;
  json["prompt"] = render_chat_prompt(read_chat_prompt(fields, model), model).text;
  return json;
}

using Maker = Json (*)(Fields& fields, const ServedModel& model);

Json make_answer(const ModelRequest& request, const Service& service, Maker make) {
  Fields fields(request.body);
  fields.text("model");
  Json json = make(fields, request.model());
  if (const auto warnings = service.warn_of(fields.unread()); !warnings.empty()) json["warnings"] = warnings;
  return json;
}

// Answers with what `make` returns for the fields of the body, made where it keeps nobody waiting.
Awaitable<void> answer_with(Exchange& exchange, Service& service, Maker make) {
  const ModelRequest request = co_await read_model_request(exchange, service);
  auto work = [&request, &service, make] { return make_answer(request, service, make); };
  const Json json = co_await run_traced(exchange, service, std::move(work));
  co_await respond_json(exchange, json);
}

}  // namespace

Awaitable<void> answer_tokenize(Exchange& exchange, Service& service) {
  return answer_with(exchange, service, tokenize);
}

Awaitable<void> answer_detokenize(Exchange& exchange, Service& service) {
  return answer_with(exchange, service, detokenize);
}

Awaitable<void> answer_apply_template(Exchange& exchange, Service& service) {
  return answer_with(exchange, service, apply_template);
}

}  // namespace vitrine::server
