#include <chrono>
#include <utility>

#include "server/api_error.h"
#include "server/endpoints/endpoints.h"
#include "server/model_request.h"
#include "server/openai/answer_json.h"
#include "server/openai/chat_prompt.h"
#include "server/openai/completion.h"
#include "server/traced_work.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

class ChatFormat final : public StreamFormat {
 public:
  explicit ChatFormat(const PreparedCompletion& prepared)
      : tokenizer_(prepared.options.sampling.logprobs ? prepared.model->tokenizer : nullptr) {}

  std::string_view id_prefix() const override { return "chatcmpl-"; }
  Json envelope(const AnswerHead& head, Json entries) const override {
    Json json = to_json(head, "chat.completion");
    json["choices"] = std::move(entries);
    return json;
  }
  std::string_view chunk_object() const override { return "chat.completion.chunk"; }

  Json whole(const ChoiceDelta& choice) override {
    Json message;
    message["role"] = "assistant";
    message["content"] = choice.text;
    message["refusal"] = nullptr;
    return entry("message", std::move(message), choice);
  }

  Json chunk(const ChoiceDelta& news) override {
    Json delta;
    delta["content"] = news.text;
    return entry("delta", std::move(delta), news);
  }

  std::optional<Json> opening(std::size_t choice) override {
    Json delta;
    delta["role"] = "assistant";
    delta["content"] = "";
    return entry("delta", std::move(delta), {.choice = choice});
  }

 private:
  Json entry(const char* name, Json value, const ChoiceDelta& news) const {
    Json json;
    json["index"] = news.choice;
    json[name] = std::move(value);
    const bool has_scores = tokenizer_ != nullptr && (!news.scores.empty() || news.finish_reason);
    json["logprobs"] = has_scores ? chat_logprobs(news.scores, *tokenizer_) : Json();
    json["finish_reason"] = news.finish_reason ? Json(engine::finish_reason_name(*news.finish_reason)) : Json();
    return json;
  }

  const tokenizer::Tokenizer* tokenizer_;  // null: no log-probabilities are wanted
};

PreparedCompletion prepare_chat(Exchange& exchange, const ModelRequest& request, const Service& service) {
  Fields fields(request.body);
  PreparedCompletion prepared(request);
  prepared.prompt_param = "messages";
  trace::Timeline& timeline = exchange.trace()->timeline();
  auto read = [&] {
    prepared.options = read_answer_options(fields, Flavour::kChat);
    chat::RenderRequest chat = read_chat_prompt(fields, *prepared.model);
    prepared.warnings = completion_warnings(service, fields, prepared.options);
    return chat;
  };
  const chat::RenderRequest chat = traced(timeline, trace::Stage::kOther, read, "read_fields");
  const chat::RenderedChat rendered =
      traced(timeline, trace::Stage::kTemplate, [&] { return render_chat_prompt(chat, *prepared.model); });
  prepared.prompts.push_back(
      traced(timeline, trace::Stage::kTokenize, [&] { return encode_rendered_prompt(rendered, *prepared.model); }));
  prepared.end_preparation();
  return prepared;
}

}  // namespace

Awaitable<void> answer_chat_completion(Exchange& exchange, Service& service) {
  const ModelRequest request = co_await read_model_request(exchange, service);
  auto work = [&exchange, &request, &service] { return prepare_chat(exchange, request, service); };
  const PreparedCompletion prepared = co_await run_traced(exchange, service, std::move(work));
  ChatFormat format(prepared);
  co_await answer_completion(exchange, service, prepared, format);
}

}  // namespace vitrine::server
