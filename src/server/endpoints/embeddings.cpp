#include <bit>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/base64.h"
#include "server/api_error.h"
#include "server/endpoints/endpoints.h"
#include "server/model_request.h"
#include "server/openai/completion.h"
#include "server/openai/text_prompts.h"
#include "server/traced_work.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxInputs = 2048;

// Little-endian float32, as the OpenAI API has it.
std::string to_base64(const std::vector<float>& values) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return base::encode_base64(bytes);
}

class EmbeddingFormat final : public AnswerFormat {
 public:
  explicit EmbeddingFormat(bool is_base64) : is_base64_(is_base64) {}

  std::string_view id_prefix() const override { return "embd-"; }
  Json envelope(const AnswerHead& head, Json entries) const override {
    Json json;
    json["object"] = "list";
    json["data"] = std::move(entries);
    json["model"] = head.model;
    return json;
  }
  Json whole(const ChoiceDelta& choice) override {
    Json json;
    json["object"] = "embedding";
    json["index"] = choice.choice;
    json["embedding"] = is_base64_ ? Json(to_base64(choice.embedding)) : Json(choice.embedding);
    return json;
  }

 private:
  bool is_base64_;
};

engine::Pooling read_pooling(Fields& fields) {
  const std::string name = fields.text("pooling").value_or("mean");
  if (name == "mean") return engine::Pooling::kMean;
  if (name == "last") return engine::Pooling::kLast;
  throw bad_field("pooling", "use mean or last");
}

bool read_is_base64(Fields& fields) {
  const std::string format = fields.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64") throw bad_field("encoding_format", "use float or base64");
  return format == "base64";
}

void check_dimensions(Fields& fields, const ServedModel& model) {
  const auto dimensions = fields.count("dimensions", 1, 1U << 20U);
  const std::size_t hidden_size = model.engine->engine().hidden_size();
  if (!dimensions || *dimensions == hidden_size) return;
  throw bad_field("dimensions",
                  fmt::format("this model's embeddings have {} values and can't be cut; leave it out", hidden_size),
                  "unsupported");
}

struct PreparedEmbeddings {
  PreparedCompletion completion;
  bool is_base64 = false;
};

PreparedEmbeddings prepare_embeddings(Exchange& exchange, const ModelRequest& request, const Service& service) {
  Fields fields(request.body);
  PreparedEmbeddings prepared{.completion = PreparedCompletion(request)};
  PreparedCompletion& completion = prepared.completion;
  completion.options.model = fields.text("model").value_or("");
  completion.options.max_tokens = 0;
  completion.pooling = read_pooling(fields);
  prepared.is_base64 = read_is_base64(fields);
  check_dimensions(fields, *completion.model);
  fields.text("user");
  completion.prompt_param = "input";
  completion.prompts = traced(exchange.trace()->timeline(), trace::Stage::kTokenize, [&] {
    return read_text_prompts(fields, *completion.model, {.param = completion.prompt_param, .max_count = kMaxInputs});
  });
  completion.warnings = service.warn_of(fields.unread());
  completion.end_preparation();
  return prepared;
}

}  // namespace

Awaitable<void> answer_embeddings(Exchange& exchange, Service& service) {
  const ModelRequest request = co_await read_model_request(exchange, service);
  auto work = [&exchange, &request, &service] { return prepare_embeddings(exchange, request, service); };
  const PreparedEmbeddings prepared = co_await run_traced(exchange, service, std::move(work));
  EmbeddingFormat format(prepared.is_base64);
  co_await answer_whole(exchange, service, prepared.completion, format);
}

}  // namespace vitrine::server
