#include "server/openai/completion.h"

#include <utility>

#include "sampling/sampling_params.h"
#include "server/api_error.h"
#include "server/openai/answer_json.h"

namespace vitrine::server {
namespace {

using engine::FinishReason;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

// A proxy cuts connections that are silent for long, and a person wonders.
constexpr std::chrono::milliseconds kKeepAlive{10'000};

engine::Request make_request(const PreparedCompletion& prepared, const std::string& tenant, std::size_t prompt,
                             std::size_t choice) {
  engine::Request request;
  request.cache_salt = tenant;
  request.prompt = prepared.prompts[prompt];
  request.sampling = prepared.options.sampling;
  if (request.sampling.seed) *request.sampling.seed += choice;  // else all choices would be the same
  request.max_tokens = prepared.options.max_tokens;
  request.eog_tokens = prepared.model->end_tokens;
  request.ignore_eos = prepared.options.ignore_eos;
  return request;
}

void submit(const PreparedCompletion& prepared, const std::string& tenant, Generation& generation) {
  for (std::size_t prompt = 0; prompt < prepared.prompts.size(); ++prompt) {
    for (std::size_t choice = 0; choice < prepared.options.num_choices; ++choice)
      generation.add(make_request(prepared, tenant, prompt, choice), choice > 0);
  }
}

ApiException failure_of(const ChoiceDelta& news) {
  if (news.finish_reason == FinishReason::kError)
    return ApiException({.status = 500, .message = news.error, .code = "numerical_error"});
  return ApiException({.status = 503, .message = "the server is stopping; ask again later", .code = "stopping"});
}

bool has_failed(const ChoiceDelta& news) {
  return news.finish_reason == FinishReason::kError || news.finish_reason == FinishReason::kAbort;
}

// Ends the generation when the client goes away while this lives.
class DisconnectWatch {
 public:
  DisconnectWatch(Exchange& exchange, Generation& generation) : exchange_(exchange) {
    exchange.watch([&generation] { generation.abort(); });
  }
  ~DisconnectWatch() { exchange_.unwatch(); }
  DisconnectWatch(const DisconnectWatch&) = delete;
  DisconnectWatch& operator=(const DisconnectWatch&) = delete;

 private:
  Exchange& exchange_;
};

class Answer {
 public:
  Answer(Exchange& exchange, const PreparedCompletion& prepared, AnswerFormat& format, Generation& generation)
      : exchange_(exchange),
        prepared_(prepared),
        format_(format),
        generation_(generation),
        head_(make_answer_head(format.id_prefix(), prepared.model->name)) {}

  Awaitable<void> respond() {
    std::vector<ChoiceDelta> choices(num_choices());
    while (!generation_.has_ended()) {
      std::vector<ChoiceDelta> all = co_await generation_.wait(kKeepAlive);
      for (ChoiceDelta& news : all)
        merge(std::move(news), choices);
    }
    const Json answer = whole(choices);
    co_await respond_json(exchange_, answer);
  }

  Awaitable<void> stream() {
    co_await exchange_.begin_events();
    std::string first = openings();
    co_await exchange_.write_events(std::move(first));
    while (!generation_.has_ended()) {
      const std::vector<ChoiceDelta> all = co_await generation_.wait(kKeepAlive);
      if (all.empty() && Clock::now() - last_write_ < kKeepAlive) continue;  // a token came whose text is held back
      std::string events = all.empty() ? ": the answer goes on\n\n" : "";
      for (const ChoiceDelta& news : all) {
        if (has_failed(news)) throw failure_of(news);
        events += chunk(format_.chunk(news), news.finish_reason && generation_.has_ended() && &news == &all.back());
      }
      if (generation_.has_ended()) events += ending();
      last_write_ = Clock::now();
      co_await exchange_.write_events(std::move(events));
    }
    co_await exchange_.end_events();
  }

 private:
  std::size_t num_choices() const { return prepared_.prompts.size() * prepared_.options.num_choices; }

  static void merge(ChoiceDelta news, std::vector<ChoiceDelta>& choices) {
    if (has_failed(news)) throw failure_of(news);
    ChoiceDelta& choice = choices[news.choice];
    choice.choice = news.choice;
    choice.text += news.text;
    choice.scores.insert(choice.scores.end(), std::make_move_iterator(news.scores.begin()),
                         std::make_move_iterator(news.scores.end()));
    choice.finish_reason = news.finish_reason;
  }

  Json whole(const std::vector<ChoiceDelta>& choices) {
    Json json = to_json(head_, format_.object());
    Json& all = json["choices"] = Json::array();
    for (const ChoiceDelta& choice : choices)
      all.push_back(format_.whole(choice));
    json["usage"] = to_json(generation_.report().usage);
    add_report(json);
    return json;
  }

  std::string openings() {
    std::string events;
    for (std::size_t choice = 0; choice < num_choices(); ++choice) {
      if (auto opening = format_.opening(choice)) events += chunk(*std::move(opening), false);
    }
    return events;
  }

  // An event with one choice. The last one before the usage carries what belongs to the whole answer.
  std::string chunk(Json choice, bool is_last) {
    Json json = to_json(head_, format_.chunk_object());
    json["choices"] = Json::array({std::move(choice)});
    if (prepared_.options.include_usage) json["usage"] = nullptr;
    if (is_last) add_report(json);
    return to_event(json);
  }

  std::string ending() {
    std::string events;
    if (prepared_.options.include_usage) {
      Json json = to_json(head_, format_.chunk_object());
      json["choices"] = Json::array();
      json["usage"] = to_json(generation_.report().usage);
      events = to_event(json);
    }
    return events + "data: [DONE]\n\n";
  }

  void add_report(Json& json) const {
    json["timings"] = timings_json(generation_.report(), prepared_.prepare_s);
    if (!prepared_.warnings.empty()) json["warnings"] = prepared_.warnings;
  }

  Exchange& exchange_;
  const PreparedCompletion& prepared_;
  AnswerFormat& format_;
  Generation& generation_;
  AnswerHead head_;
  Clock::time_point last_write_ = Clock::now();
};

}  // namespace

std::vector<std::string> completion_warnings(const Service& service, const Fields& fields,
                                             const AnswerOptions& options) {
  std::vector<std::string> warnings = service.warn_of(fields.unread());
  for (std::string& line : sampling::advice(options.sampling))
    warnings.push_back(std::move(line));
  return warnings;
}

Awaitable<void> answer_completion(Exchange& exchange, Service& service, const PreparedCompletion& prepared,
                                  AnswerFormat& format) {
  const auto executor = co_await asio::this_coro::executor;
  Generation generation(executor, *prepared.model, prepared.options.stops);
  submit(prepared, exchange.tenant(), generation);
  const LiveRequests::Entry entry(service.live(), exchange.id(), exchange.tenant(), generation);
  const DisconnectWatch watch(exchange, generation);
  Answer answer(exchange, prepared, format, generation);
  if (prepared.options.stream) {
    co_await answer.stream();
  } else {
    co_await answer.respond();
  }
  service.metrics().observe(prepared.model->name, generation.report());
}

}  // namespace vitrine::server
