#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "server/generation.h"
#include "server/openai/answer_options.h"
#include "server/service.h"

namespace vitrine::server {

// A completion request that was read, rendered and tokenized.
struct PreparedCompletion {
  const ServedModel* model = nullptr;
  AnswerOptions options;
  std::vector<std::vector<TokenId>> prompts;
  std::vector<std::string> warnings;
  double prepare_s = 0.0;

  // Over all prompts.
  std::size_t num_choices() const { return prompts.size() * options.num_choices; }
  std::size_t num_prompt_tokens() const;
};

// How an endpoint writes its answers; choices are counted over all prompts, the choices of one prompt in a row.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;

  virtual std::string_view id_prefix() const = 0;
  virtual std::string_view object() const = 0;        // of a whole answer
  virtual std::string_view chunk_object() const = 0;  // of an event
  // The choice's entry in `choices` of a whole answer, with all its news put together.
  virtual nlohmann::ordered_json whole(const ChoiceDelta& choice) = 0;
  // Its entry in an event.
  virtual nlohmann::ordered_json chunk(const ChoiceDelta& news) = 0;
  // Its entry in the event that begins it; nullopt: there is none.
  virtual std::optional<nlohmann::ordered_json> opening(std::size_t choice) = 0;
};

// What the answer should say besides: fields that nobody read, settings that work against each other. Throws
// ApiException where unknown fields are refused.
std::vector<std::string> completion_warnings(const Service& service, const Fields& fields,
                                             const AnswerOptions& options);

// Generates and answers, streamed or whole as the client wants it. Throws ApiException.
Awaitable<void> answer_completion(Exchange& exchange, Service& service, const PreparedCompletion& prepared,
                                  AnswerFormat& format);

}  // namespace vitrine::server
