#include "server/openai/answer_options.h"

#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "chat/stop_matcher.h"
#include "sampling/parameter_table.h"
#include "server/api_error.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxTokens = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMaxChatLogprobs = 20;
constexpr std::size_t kMaxTextLogprobs = 5;
constexpr std::size_t kTextMaxTokens = 16;  // the API's own default for text completions

std::optional<sampling::ParameterValue> parameter_value(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return std::nullopt;
}

void read_sampling(Fields& fields, sampling::SamplingParams& params) {
  for (const sampling::ParameterRow& row : sampling::parameter_rows()) {
    if (row.only_reports()) continue;  // the two endpoints ask for these in ways of their own
    for (const std::string_view name : {row.field, row.aliases[0], row.aliases[1]}) {
      const Json* value = name.empty() ? nullptr : fields.find(name);
      if (value == nullptr) continue;
      const auto number = parameter_value(*value);
      if (!number) throw bad_field(std::string(name), "must be " + row.range(), "invalid_type");
      const auto set = sampling::set_parameter(params, row, *number);
      if (!set)
        throw ApiException({.message = set.error().message, .param = std::string(name), .code = "invalid_value"});
    }
  }
  // Clients that send it want something else than what is left then, the most probable token alone.
  if (params.top_p == 0.0F) throw bad_field("top_p", "must be above 0; for the most probable token use temperature 0");
}

void read_logit_bias(Fields& fields, sampling::SamplingParams& params) {
  const Json* biases = fields.object("logit_bias");
  if (biases == nullptr) return;
  if (biases->size() > sampling::kMaxLogitBiases)
    throw bad_field("logit_bias", fmt::format("at most {} tokens", sampling::kMaxLogitBiases));
  for (const auto& [name, value] : biases->items()) {
    TokenId id = -1;
    const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (code != std::errc() || end != name.data() + name.size() || id < 0)
      throw bad_field("logit_bias", "its keys must be token ids");
    if (!value.is_number()) throw bad_field("logit_bias", "its values must be numbers", "invalid_type");
    params.logit_bias.emplace_back(id, value.get<float>());
  }
}

void read_chat_logprobs(Fields& fields, sampling::SamplingParams& params) {
  params.logprobs = fields.flag("logprobs").value_or(false);
  const auto top = fields.count("top_logprobs", 0, kMaxChatLogprobs);
  if (top && !params.logprobs) throw bad_field("top_logprobs", "needs logprobs: true");
  params.top_logprobs = static_cast<int>(top.value_or(0));
}

void read_text_logprobs(Fields& fields, sampling::SamplingParams& params) {
  const auto top = fields.count("logprobs", 0, kMaxTextLogprobs);
  params.logprobs = top.has_value();
  params.top_logprobs = static_cast<int>(top.value_or(0));
}

std::optional<std::size_t> read_max_tokens(Fields& fields, Flavour flavour) {
  const std::size_t least = flavour == Flavour::kChat ? 1 : 0;
  const auto old_name = fields.count("max_tokens", least, kMaxTokens);
  if (flavour == Flavour::kText) return old_name.value_or(kTextMaxTokens);
  const auto new_name = fields.count("max_completion_tokens", least, kMaxTokens);
  if (old_name && new_name && *old_name != *new_name)
    throw bad_field("max_tokens", "contradicts max_completion_tokens; give one of them");
  return new_name ? new_name : old_name;
}

std::vector<std::string> read_stops(Fields& fields) {
  std::vector<std::string> stops = fields.texts("stop", chat::StopMatcher::kMaxStops);
  for (const std::string& stop : stops) {
    if (stop.empty() || stop.size() > chat::StopMatcher::kMaxStopBytes)
      throw bad_field("stop", fmt::format("each must have from 1 to {} bytes", chat::StopMatcher::kMaxStopBytes));
  }
  return stops;
}

void read_stream(Fields& fields, AnswerOptions& options) {
  options.stream = fields.flag("stream").value_or(false);
  const Json* object = fields.object("stream_options");
  if (object == nullptr) return;
  if (!options.stream) throw bad_field("stream_options", "needs stream: true");
  Fields stream_options(*object, "stream_options.");
  options.include_usage = stream_options.flag("include_usage").value_or(false);
  options.include_progress = stream_options.flag("include_progress").value_or(false);
  fields.take_unread_of(stream_options);
}

bool is_empty(const Json& value) {
  return value.is_structured() && value.empty();
}

}  // namespace

AnswerOptions read_answer_options(Fields& fields, Flavour flavour) {
  AnswerOptions options;
  options.model = fields.text("model").value_or("");
  read_sampling(fields, options.sampling);
  read_logit_bias(fields, options.sampling);
  if (flavour == Flavour::kChat) {
    read_chat_logprobs(fields, options.sampling);
  } else {
    read_text_logprobs(fields, options.sampling);
  }
  options.max_tokens = read_max_tokens(fields, flavour);
  options.stops = read_stops(fields);
  options.num_choices = fields.count("n", 1, kMaxChoices).value_or(1);
  read_stream(fields, options);
  options.ignore_eos = fields.flag("ignore_eos").value_or(false);
  check_unsupported(fields);
  return options;
}

void check_unsupported(Fields& fields) {
  for (const char* name : {"user", "metadata", "store", "service_tier", "parallel_tool_calls", "safety_identifier",
                           "prompt_cache_key", "prompt_cache_retention"})
    fields.find(name);
  for (const char* name : {"tools", "functions", "function_call", "audio", "prediction", "web_search_options", "suffix",
                           "chat_template"}) {
    const Json* value = fields.find(name);
    if (value != nullptr && !is_empty(*value) && *value != "")
      throw bad_field(name, "is not available here", "unsupported");
  }
  if (const Json* format = fields.object("response_format");
      format != nullptr && Fields(*format, "response_format.").text("type") != "text")
    throw bad_field("response_format", "only {\"type\": \"text\"} is available here", "unsupported");
  if (const Json* value = fields.find("tool_choice"); value != nullptr && *value != "none" && *value != "auto")
    throw bad_field("tool_choice", "there are no tools here: use \"none\" or leave it out", "unsupported");
  if (const Json* value = fields.find("modalities"); value != nullptr && *value != Json::array({"text"}))
    throw bad_field("modalities", "only [\"text\"] is available here", "unsupported");
  if (fields.count("best_of", 1, kMaxChoices).value_or(1) > 1) throw bad_field("best_of", "only 1 is available here");
}

}  // namespace vitrine::server
