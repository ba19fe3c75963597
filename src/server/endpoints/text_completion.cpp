#include <chrono>
#include <utility>

#include "server/api_error.h"
#include "server/endpoints/endpoints.h"
#include "server/model_request.h"
#include "server/openai/answer_json.h"
#include "server/openai/completion.h"
#include "server/openai/text_prompts.h"
#include "server/traced_work.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

class TextFormat final : public StreamFormat {
 public:
  TextFormat(const PreparedCompletion& prepared, std::vector<std::string> echoes)
      : tokenizer_(prepared.options.sampling.logprobs ? prepared.model->tokenizer : nullptr),
        num_choices_(prepared.options.num_choices),
        echoes_(std::move(echoes)),
        text_offsets_(prepared.prompts.size() * num_choices_) {}

  std::string_view id_prefix() const override { return "cmpl-"; }
  Json envelope(const AnswerHead& head, Json entries) const override {
    Json json = to_json(head, "text_completion");
    json["choices"] = std::move(entries);
    return json;
  }
  std::string_view chunk_object() const override { return "text_completion"; }

  Json whole(const ChoiceDelta& choice) override { return entry(echo(choice.choice) + choice.text, choice); }
  Json chunk(const ChoiceDelta& news) override { return entry(news.text, news); }
  std::optional<Json> opening(std::size_t choice) override {
    if (echoes_.empty()) return std::nullopt;
    return entry(echo(choice), {.choice = choice});
  }

 private:
  std::string echo(std::size_t choice) const { return echoes_.empty() ? "" : echoes_[choice / num_choices_]; }

  Json entry(const std::string& text, const ChoiceDelta& news) {
    Json json;
    json["text"] = text;
    json["index"] = news.choice;
    json["logprobs"] =
        tokenizer_ != nullptr ? text_logprobs(news.scores, *tokenizer_, text_offsets_[news.choice]) : Json();
    json["finish_reason"] = news.finish_reason ? Json(engine::finish_reason_name(*news.finish_reason)) : Json();
    return json;
  }

  const tokenizer::Tokenizer* tokenizer_;  // null: no log-probabilities are wanted
  std::size_t num_choices_;                // of each prompt
  std::vector<std::string> echoes_;        // the text of each prompt; empty: not wanted
  std::vector<std::size_t> text_offsets_;
};

struct PreparedText {
  PreparedCompletion completion;
  std::vector<std::string> echoes;
};

PreparedText prepare_text(Exchange& exchange, const ModelRequest& request, const Service& service) {
  Fields fields(request.body);
  PreparedText prepared{.completion = PreparedCompletion(request), .echoes = {}};
  PreparedCompletion& completion = prepared.completion;
  completion.options = read_answer_options(fields, Flavour::kText);
  const bool wants_echo = fields.flag("echo").value_or(false);
  if (wants_echo && completion.options.sampling.logprobs)
    throw bad_field("logprobs", "not available together with echo", "unsupported");
  completion.prompts = traced(exchange.trace()->timeline(), trace::Stage::kTokenize,
                              [&] { return read_text_prompts(fields, *completion.model); });
  completion.warnings = completion_warnings(service, fields, completion.options);
  if (wants_echo) {
    prepared.echoes = traced(
        exchange.trace()->timeline(), trace::Stage::kDetokenize,
        [&] { return echo_texts(fields, completion.prompts, *completion.model); }, "echo");
  }
  completion.end_preparation();
  return prepared;
}

}  // namespace

Awaitable<void> answer_text_completion(Exchange& exchange, Service& service) {
  const ModelRequest request = co_await read_model_request(exchange, service);
  auto work = [&exchange, &request, &service] { return prepare_text(exchange, request, service); };
  const PreparedText prepared = co_await run_traced(exchange, service, std::move(work));
  TextFormat format(prepared.completion, prepared.echoes);
  co_await answer_completion(exchange, service, prepared.completion, format);
}

}  // namespace vitrine::server
