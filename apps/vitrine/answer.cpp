#include "vitrine/answer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "chat/answer_text.h"

namespace vitrine::cli {
namespace {

using trace::Stage;

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

// Turns token events into text, and notes when each token came.
class AnswerWriter {
 public:
  AnswerWriter(const Runtime& runtime, chat::StopMatcher stops, trace::Timeline& timeline, const AnswerHooks& hooks)
      : text_(runtime.bundle().tokenizer.get(), std::move(stops)), timeline_(timeline), hooks_(hooks) {}

  void on_event(const engine::TokenEvent& event, Answer& answer) {
    if (event.token && !stopped()) {
      token_times_s_.push_back(seconds(timeline_.now_ns()));
      answer.sampled_ids.push_back(*event.token);
    }
    const std::string text = take(event, answer);
    if (text.empty()) return;
    answer.text += text;
    if (!hooks_.on_text) return;
    const trace::ScopedSpan output(timeline_, Stage::kOther, {}, "output");
    hooks_.on_text(text);
  }
  bool stopped() const { return text_.stopped(); }
  std::span<const double> token_times_s() const { return token_times_s_; }

 private:
  // The text that this event makes final.
  std::string take(const engine::TokenEvent& event, Answer& answer) {
    const trace::ScopedSpan detokenize(timeline_, Stage::kDetokenize);
    const bool is_end_token = event.finish_reason == engine::FinishReason::kStop;
    std::string text;
    if (event.token && !is_end_token && !stopped()) {
      answer.token_ids.push_back(*event.token);
      text = text_.push(*event.token);
    }
    if (event.finish_reason) text += text_.finish();
    return text;
  }

  chat::AnswerText text_;
  trace::Timeline& timeline_;
  const AnswerHooks& hooks_;
  std::vector<double> token_times_s_;
};

void note_logprobs(const engine::TokenEvent& event, Answer& answer) {
  answer.logprobs.push_back({*event.token, event.logprob, event.top_logprobs});
}

// Rows of the prompt whose chunks are done, the cached ones not among them.
std::size_t num_prefilled(const trace::Timeline& timeline) {
  std::size_t num_rows = 0;
  for (const trace::Attribute& attribute : timeline.attributes()) {
    const bool is_chunk = timeline.spans()[attribute.span.index].stage == Stage::kPrefill;
    if (is_chunk && attribute.key == "rows")
      num_rows += static_cast<std::size_t>(std::get<std::int64_t>(attribute.value));
  }
  return num_rows;
}

// The end of the last load: what comes before is not the request's.
double request_start_s(const trace::Timeline& timeline) {
  std::int64_t end_ns = 0;
  for (const trace::Span& span : timeline.spans()) {
    if (span.stage == Stage::kLoad) end_ns = std::max(end_ns, span.time.end_ns);
  }
  return seconds(end_ns);
}

AnswerTimings read_timings(const trace::Timeline& timeline, std::span<const double> token_times_s) {
  const auto stage = [&](Stage wanted) { return seconds(timeline.stage_ns(wanted)); };
  AnswerTimings t;
  t.load_s = stage(Stage::kLoad);
  t.queue_s = stage(Stage::kQueue);
  t.template_s = stage(Stage::kTemplate);
  t.tokenize_s = stage(Stage::kTokenize);
  t.prefill_s = stage(Stage::kPrefill);
  t.decode_s = stage(Stage::kDecode);
  t.sample_s = stage(Stage::kSample);
  t.detokenize_s = stage(Stage::kDetokenize);
  t.total_s = seconds(timeline.wall_ns());
  t.unaccounted_s = t.total_s - (t.load_s + t.queue_s + t.template_s + t.tokenize_s + t.prefill_s + t.decode_s +
                                 t.sample_s + t.detokenize_s);
  t.latency = trace::summarise_latency(0.0, token_times_s);
  return t;
}

engine::Request make_request(const Runtime& runtime, std::vector<TokenId> prompt, const AnswerOptions& options) {
  engine::Request request;
  request.prompt = std::move(prompt);
  request.sampling = options.sampling;
  request.max_tokens = options.max_tokens;
  request.eog_tokens = runtime.end_tokens();
  request.ignore_eos = options.ignore_eos;
  return request;
}

void take_counts(const engine::TokenEvent& last, Answer& answer) {
  answer.finish_reason = engine::finish_reason_name(*last.finish_reason);
  answer.error = last.error;
  answer.prompt_tokens = last.prompt_tokens;
  answer.completion_tokens = last.completion_tokens;
  answer.cached_tokens = last.cached_tokens;
}

std::string length_note(const Answer& answer, const AnswerOptions& options, std::size_t max_total_tokens) {
  const bool is_own_limit = options.max_tokens && answer.completion_tokens >= *options.max_tokens;
  if (answer.finish_reason != "length" || is_own_limit) return "";
  return fmt::format(
      "the answer ends where the context is full: {} tokens of prompt and {} of answer fill its {}; raise --ctx or "
      "shorten the prompt",
      answer.prompt_tokens, answer.completion_tokens, max_total_tokens);
}

// Steps the engine until the request has ended.
void run_to_end(engine::Engine& engine, engine::RequestId id, const AnswerHooks& hooks, const Answer& answer,
                const trace::Timeline& timeline) {
  while (answer.finish_reason.empty()) {
    if (hooks.stop != nullptr && hooks.stop->load(std::memory_order_relaxed)) engine.abort(id);
    engine.step();
    if (answer.token_ids.empty() && hooks.on_prefill) hooks.on_prefill(num_prefilled(timeline), answer.prompt_tokens);
  }
}

}  // namespace

Answer answer_prompt(Runtime& runtime, std::vector<TokenId> prompt, const AnswerOptions& options,
                     trace::Timeline& timeline, const AnswerHooks& hooks) {
  engine::Engine& engine = runtime.engine();
  AnswerWriter writer(runtime, chat::StopMatcher::create(options.stops).value_or_throw(), timeline, hooks);
  Answer answer;
  answer.prompt_tokens = prompt.size();
  const auto on_event = [&](const engine::TokenEvent& event) {
    writer.on_event(event, answer);
    if (event.token && options.sampling.logprobs) note_logprobs(event, answer);
    if (writer.stopped() && !event.finish_reason) engine.abort(event.request);
    if (event.finish_reason) take_counts(event, answer);
  };
  const auto id = engine.submit(make_request(runtime, std::move(prompt), options), on_event, &timeline);
  if (!id) throw base::Exception(id.error());
  run_to_end(engine, *id, hooks, answer, timeline);
  timeline.finish();
  if (writer.stopped()) answer.finish_reason = "stop";
  answer.length_note = length_note(answer, options, engine.max_total_tokens());
  const double start_s = request_start_s(timeline);
  for (const double time_s : writer.token_times_s())
    answer.token_times_s.push_back(time_s - start_s);
  answer.timings = read_timings(timeline, answer.token_times_s);
  return answer;
}

}  // namespace vitrine::cli
