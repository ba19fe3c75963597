#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/elapsed.h"
#include "server/generation.h"
#include "server/model_request.h"
#include "server/openai/answer_json.h"
#include "server/openai/answer_options.h"
#include "server/service.h"

namespace vitrine::server {

// A request for answers, or for embeddings, that was read, rendered and tokenized.
struct PreparedCompletion {
  PreparedCompletion() = default;
  // Of what stands in the body of `request`, which must outlive this. From now on it is being prepared.
  explicit PreparedCompletion(const ModelRequest& request)
      : model(&request.model()), queue(&request.lease.queue()), load_s(request.load_s), prepare_s(request.parse_s) {}

  const ServedModel* model = nullptr;
  AnswerQueue* queue = nullptr;
  double load_s = 0.0;     // that it waited for its model to be loaded
  double prepare_s = 0.0;  // to read, render and tokenize it
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  AnswerOptions options;
  engine::Pooling pooling = engine::Pooling::kNone;
  std::vector<std::vector<TokenId>> prompts;
  std::string prompt_param = "prompt";  // the field that they came in
  std::vector<std::string> warnings;

  void end_preparation() { prepare_s += base::seconds_since(began); }
  // Over all prompts.
  std::size_t num_choices() const { return prompts.size() * options.num_choices; }
  std::size_t num_prompt_tokens() const;
};

// How an endpoint writes its answers; choices are counted over all prompts, the choices of one prompt in a row.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;

  virtual std::string_view id_prefix() const = 0;
  // A whole answer but for its usage and timings.
  virtual nlohmann::ordered_json envelope(const AnswerHead& head, nlohmann::ordered_json entries) const = 0;
  // The choice's entry in a whole answer, with all its news put together.
  virtual nlohmann::ordered_json whole(const ChoiceDelta& choice) = 0;
};

// Of answers that may be streamed.
class StreamFormat : public AnswerFormat {
 public:
  virtual std::string_view chunk_object() const = 0;  // of an event
  // Its entry in an event.
  virtual nlohmann::ordered_json chunk(const ChoiceDelta& news) = 0;
  // Its entry in the event that begins it; nullopt: there is none.
  virtual std::optional<nlohmann::ordered_json> opening(std::size_t choice) = 0;
};

// What the answer should say besides: fields that nobody read, settings that work against each other. Throws
// ApiException where unknown fields are refused.
std::vector<std::string> completion_warnings(const Service& service, const Fields& fields,
                                             const AnswerOptions& options);

// Computes and answers. Throws ApiException.
Awaitable<void> answer_whole(Exchange& exchange, Service& service, const PreparedCompletion& prepared,
                             AnswerFormat& format);
// The same, streamed where the client wants it.
Awaitable<void> answer_completion(Exchange& exchange, Service& service, const PreparedCompletion& prepared,
                                  StreamFormat& format);

}  // namespace vitrine::server
