#include "server/openai/completion.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/unix_time.h"
#include "sampling/sampling_params.h"
#include "server/api_error.h"
#include "server/openai/answer_json.h"
#include "server/request_spans.h"
#include "server/traced_work.h"
#include "server/usage_recorder.h"
#include "trace/otlp.h"

namespace vitrine::server {
namespace {

using engine::FinishReason;
using trace::Stage;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

// A proxy cuts connections that are silent for long, and a person wonders.
constexpr std::chrono::milliseconds kKeepAlive{10'000};

// What a request takes from its key beside the prompt.
struct Share {
  std::string tenant;
  int priority = 0;
  std::optional<std::size_t> max_tokens = {};  // of each choice
};

// Where the client names no length, an answer may be as long as the context and the smallest limit of its key allow.
std::optional<std::size_t> choose_max_tokens(const Exchange& exchange, const PreparedCompletion& prepared) {
  const auto most = exchange.ticket() != nullptr ? exchange.ticket()->most_tokens() : std::nullopt;
  if (prepared.options.max_tokens || !most) return prepared.options.max_tokens;
  const auto room =
      static_cast<std::size_t>(*most) - std::min(static_cast<std::size_t>(*most), prepared.num_prompt_tokens());
  return std::max<std::size_t>(1, room / prepared.num_choices());
}

// Sets the request's tokens aside in the limits of its key. Throws ApiException (429).
Share take_share(Exchange& exchange, const PreparedCompletion& prepared) {
  Share share{.tenant = exchange.tenant(), .max_tokens = choose_max_tokens(exchange, prepared)};
  if (exchange.ticket() == nullptr) return share;
  share.priority = static_cast<int>(exchange.grant()->limits.priority.value_or(0));
  const std::size_t context = prepared.model->engine->engine().max_total_tokens();
  std::size_t num_tokens = 0;
  for (const auto& prompt : prepared.prompts) {
    const std::size_t room = context - std::min(context, prompt.size());
    num_tokens += prompt.size() + prepared.options.num_choices * std::min(room, share.max_tokens.value_or(room));
  }
  exchange.ticket()->reserve(static_cast<std::int64_t>(num_tokens));
  exchange.set_headers(exchange.ticket()->headers());
  return share;
}

engine::Request make_request(const PreparedCompletion& prepared, const Share& share, std::size_t prompt,
                             std::size_t choice) {
  engine::Request request;
  request.cache_salt = share.tenant;
  request.tenant = share.tenant;
  request.priority = share.priority;
  request.prompt = prepared.prompts[prompt];
  request.sampling = prepared.options.sampling;
  if (request.sampling.seed) *request.sampling.seed += choice;  // else all choices would be the same
  request.max_tokens = share.max_tokens;
  request.eog_tokens = prepared.model->end_tokens;
  request.ignore_eos = prepared.options.ignore_eos;
  request.pooling = prepared.pooling;
  request.progress = prepared.options.include_progress && choice == 0;  // the others have the same prompt
  return request;
}

// What the engine would refuse takes no place in the queue and nothing of the key's limits.
void check(const PreparedCompletion& prepared) {
  const Share share{.tenant = {}, .max_tokens = prepared.options.max_tokens};
  for (std::size_t prompt = 0; prompt < prepared.prompts.size(); ++prompt) {
    const auto refusal = prepared.model->engine->engine().validate(make_request(prepared, share, prompt, 0));
    if (!refusal) continue;
    const bool is_prompt = refusal->param == "prompt";
    throw ApiException({.message = refusal->message,
                        .param = is_prompt ? prepared.prompt_param : refusal->param,
                        .code = std::string(refusal->code)});
  }
}

void submit(const PreparedCompletion& prepared, const Share& share, Generation& generation) {
  for (std::size_t prompt = 0; prompt < prepared.prompts.size(); ++prompt) {
    for (std::size_t choice = 0; choice < prepared.options.num_choices; ++choice)
      generation.add(make_request(prepared, share, prompt, choice), choice > 0);
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
    exchange.watch([&exchange, &generation] {
      exchange.set_gone();
      generation.abort();
    });
  }
  ~DisconnectWatch() { exchange_.unwatch(); }
  DisconnectWatch(const DisconnectWatch&) = delete;
  DisconnectWatch& operator=(const DisconnectWatch&) = delete;

 private:
  Exchange& exchange_;
};

// How an answer may be written; without `stream` it is whole.
struct Format {
  AnswerFormat& whole;
  StreamFormat* stream = nullptr;
};

class Answer {
 public:
  Answer(Exchange& exchange, const PreparedCompletion& prepared, const Format& format, Generation& generation,
         UsageRecorder& recorder)
      : exchange_(exchange),
        prepared_(prepared),
        format_(format),
        generation_(generation),
        recorder_(recorder),
        head_(make_answer_head(format.whole.id_prefix(), prepared.model->name)) {}

  Awaitable<void> respond() {
    std::vector<ChoiceDelta> choices(prepared_.num_choices());
    while (!generation_.has_ended()) {
      std::vector<ChoiceDelta> all = co_await generation_.wait(kKeepAlive);
      for (ChoiceDelta& news : all)
        merge(std::move(news), choices);
    }
    co_await record_usage();
    const Json answer = traced(
        timeline(), Stage::kOther, [&] { return whole(choices); }, "format");
    const trace::ScopedSpan span(timeline(), Stage::kSocket, {}, "write");
    co_await respond_json(exchange_, answer);
  }

  Awaitable<void> stream() {
    co_await begin_stream();
    while (!generation_.has_ended()) {
      const std::vector<ChoiceDelta> all = co_await generation_.wait(kKeepAlive);
      if (all.empty() && Clock::now() - last_write_ < kKeepAlive) continue;  // a token came whose text is held back
      std::string events = traced(
          timeline(), Stage::kOther, [&] { return events_of(all); }, "format");
      if (generation_.has_ended()) {
        co_await record_usage();
        events += ending();
      }
      last_write_ = Clock::now();
      co_await write(std::move(events), "write");
    }
    const trace::ScopedSpan span(timeline(), Stage::kSocket, {}, "end");
    co_await exchange_.end_events();
  }

 private:
  trace::Timeline& timeline() { return exchange_.trace()->timeline(); }

  Awaitable<void> begin_stream() {
    const trace::ScopedSpan span(timeline(), Stage::kSocket, {}, "begin");
    co_await exchange_.begin_events();
    std::string first = openings();
    exchange_.trace()->count_write(first);
    co_await exchange_.write_events(std::move(first));
  }

  Awaitable<void> write(std::string events, std::string_view name) {
    trace::ScopedSpan span(timeline(), Stage::kSocket, {}, name);
    span.annotate("bytes", trace::size_attribute(events.size()));
    exchange_.trace()->count_write(events);
    co_await exchange_.write_events(std::move(events));
  }

  // Throws ApiException for a choice that failed.
  std::string events_of(const std::vector<ChoiceDelta>& all) {
    std::string events = all.empty() ? ": the answer goes on\n\n" : "";
    for (const ChoiceDelta& news : all) {
      if (has_failed(news)) throw failure_of(news);
      if (news.progress) {
        events += progress_chunk(news.choice, *news.progress);
        continue;
      }
      events +=
          chunk(format_.stream->chunk(news), news.finish_reason && generation_.has_ended() && &news == &all.back());
    }
    return events;
  }

  Awaitable<void> record_usage() {
    const trace::ScopedSpan span(timeline(), Stage::kOther, {}, "usage");
    co_await recorder_.record();
  }

  static void merge(ChoiceDelta news, std::vector<ChoiceDelta>& choices) {
    if (has_failed(news)) throw failure_of(news);
    ChoiceDelta& choice = choices[news.choice];
    choice.choice = news.choice;
    choice.text += news.text;
    choice.scores.insert(choice.scores.end(), std::make_move_iterator(news.scores.begin()),
                         std::make_move_iterator(news.scores.end()));
    choice.embedding = std::move(news.embedding);
    choice.finish_reason = news.finish_reason;
  }

  Json whole(const std::vector<ChoiceDelta>& choices) {
    Json entries = Json::array();
    for (const ChoiceDelta& choice : choices)
      entries.push_back(format_.whole.whole(choice));
    Json json = format_.whole.envelope(head_, std::move(entries));
    json["usage"] = to_json(generation_.report().usage);
    add_report(json);
    return json;
  }

  std::string openings() {
    std::string events;
    for (std::size_t choice = 0; choice < prepared_.num_choices(); ++choice) {
      if (auto opening = format_.stream->opening(choice)) events += chunk(*std::move(opening), false);
    }
    return events;
  }

  Json chunk_of(Json choices) const {
    Json json = to_json(head_, format_.stream->chunk_object());
    json["choices"] = std::move(choices);
    if (prepared_.options.include_usage) json["usage"] = nullptr;
    return json;
  }

  std::string progress_chunk(std::size_t choice, const engine::Progress& progress) const {
    Json json = chunk_of(Json::array());
    json["progress"] = progress_json(choice, progress);
    return to_event(json);
  }

  // An event with one choice. The last one before the usage carries what belongs to the whole answer.
  std::string chunk(Json choice, bool is_last) {
    Json json = chunk_of(Json::array({std::move(choice)}));
    if (is_last) add_report(json);
    return to_event(json);
  }

  std::string ending() {
    std::string events;
    if (prepared_.options.include_usage) {
      Json json = chunk_of(Json::array());
      json["usage"] = to_json(generation_.report().usage);
      events = to_event(json);
    }
    return events + "data: [DONE]\n\n";
  }

  void add_report(Json& json) const {
    json["timings"] = timings_json(generation_, {.load_s = prepared_.load_s, .prepare_s = prepared_.prepare_s});
    if (const auto& prefix = generation_.report().prefix)
      json["prefix_cache"] = prefix_json(*prefix, prepared_.model->tokenizer);
    if (!prepared_.warnings.empty()) json["warnings"] = prepared_.warnings;
  }

  Exchange& exchange_;
  const PreparedCompletion& prepared_;
  Format format_;
  Generation& generation_;
  UsageRecorder& recorder_;
  AnswerHead head_;
  Clock::time_point last_write_ = Clock::now();
};

// Whoever asked is told nothing more; what was computed is noted all the same.
Awaitable<void> end_early(trace::Timeline& timeline, Generation& generation, UsageRecorder& recorder) {
  generation.abort();
  while (!generation.has_ended())
    co_await generation.wait(kKeepAlive);
  const trace::ScopedSpan span(timeline, Stage::kOther, {}, "usage");
  try {
    co_await recorder.record();
  } catch (const ApiException&) {  // the client hears of the first failure
  }
}

// As the API names it, or "client_gone"; empty without one.
std::string error_of(const Exchange& exchange, const std::exception_ptr& failure) {
  if (failure == nullptr) return "";
  if (exchange.is_gone()) return "client_gone";
  try {
    std::rethrow_exception(failure);
  } catch (const ApiException& exception) {
    return exception.error().name();
  } catch (const boost::system::system_error&) {
    return "client_gone";
  } catch (const std::exception&) {
    return "server_error";
  }
}

AskedFor asked_for(const PreparedCompletion& prepared) {
  const AnswerOptions& options = prepared.options;
  return {.model = options.model,
          .sampling = options.sampling,
          .max_tokens = options.max_tokens,
          .num_choices = options.num_choices,
          .is_streamed = options.stream};
}

// When the answer is out, or nobody waits for it.
Awaitable<TraceStore::Entry> finish_trace(Exchange& exchange, Generation& generation) {
  exchange.trace()->finish();
  co_await generation.settle();
  exchange.trace()->finish_engine(generation.answered());
  const GenerationReport& report = generation.report();
  co_return TraceStore::Entry{.id = exchange.id(),
                              .tenant = exchange.tenant(),
                              .model = generation.model().name,
                              .route = std::string(exchange.route()),
                              .usage = report.usage,
                              .finish_reasons = report.finish_reasons,
                              .token_times_s = report.token_times_s,
                              .prefix = report.prefix,
                              .ended_s = base::unix_time_s(),
                              .trace = exchange.take_trace()};
}

Awaitable<void> run(Exchange& exchange, Service& service, const PreparedCompletion& prepared, Format format) {
  const auto executor = co_await asio::this_coro::executor;
  trace::Timeline& timeline = exchange.trace()->timeline();
  const trace::SpanId check_span = timeline.begin(Stage::kOther, {}, "check");
  check(prepared);
  const AnswerQueue::Place place(*prepared.queue, prepared.num_choices());
  const Share share = take_share(exchange, prepared);
  Generation generation(executor, *prepared.model, prepared.options.stops, *exchange.trace());
  UsageRecorder recorder(executor, exchange, service.accounting(), generation);
  timeline.end(check_span);
  traced(
      timeline, Stage::kLookup, [&] { submit(prepared, share, generation); }, "submit");
  const LiveRequests::Entry entry(service.live(), exchange.id(), exchange.tenant(), generation);
  std::exception_ptr failure;
  try {
    const DisconnectWatch watch(exchange, generation);
    Answer answer(exchange, prepared, format, generation, recorder);
    if (format.stream != nullptr && prepared.options.stream) {
      co_await answer.stream();
    } else {
      co_await answer.respond();
    }
  } catch (...) {
    failure = std::current_exception();
    timeline.record(Stage::kOther, {timeline.last_end_ns(), timeline.now_ns()}, {}, "failure");
  }
  if (failure != nullptr) co_await end_early(timeline, generation, recorder);
  TraceStore::Entry trace = co_await finish_trace(exchange, generation);
  if (trace::SpanExporter* exporter = service.options().exporter; exporter != nullptr)
    exporter->offer(request_spans(exchange, trace, asked_for(prepared), error_of(exchange, failure)));
  service.traces().add(std::move(trace));
  if (failure != nullptr) std::rethrow_exception(failure);
  service.metrics().observe(prepared.model->name, generation.report());
}

}  // namespace

std::size_t PreparedCompletion::num_prompt_tokens() const {
  std::size_t sum = 0;
  for (const auto& prompt : prompts)
    sum += prompt.size();
  return sum;
}

std::vector<std::string> completion_warnings(const Service& service, const Fields& fields,
                                             const AnswerOptions& options) {
  std::vector<std::string> warnings = service.warn_of(fields.unread());
  for (std::string& line : sampling::advice(options.sampling))
    warnings.push_back(std::move(line));
  return warnings;
}

Awaitable<void> answer_whole(Exchange& exchange, Service& service, const PreparedCompletion& prepared,
                             AnswerFormat& format) {
  return run(exchange, service, prepared, {format});
}

Awaitable<void> answer_completion(Exchange& exchange, Service& service, const PreparedCompletion& prepared,
                                  StreamFormat& format) {
  return run(exchange, service, prepared, {format, &format});
}

}  // namespace vitrine::server
