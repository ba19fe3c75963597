#include "vitrine/answer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "chat/stop_matcher.h"
#include "engine/generate.h"
#include "tools/hub/files.h"
#include "vitrine/output.h"

namespace vitrine::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

// Turns token events into text and times them.
class AnswerWriter {
 public:
  AnswerWriter(Runtime& runtime, chat::StopMatcher stops, const OnText& on_text)
      : runtime_(runtime), stops_(std::move(stops)), on_text_(on_text) {
    if (runtime.bundle().tokenizer != nullptr) detokenizer_.emplace(runtime.tokenizer(), true);
  }

  void on_event(const engine::TokenEvent& event, Answer& answer) {
    const Clock::time_point now = Clock::now();
    if (event.token) {
      if (last_token_) answer.timings.token_gaps_s.push_back(seconds_between(*last_token_, now));
      last_token_ = now;
      const bool ends = event.finish_reason == engine::FinishReason::kStop;
      if (!ends && !stops_.stopped()) {
        answer.token_ids.push_back(*event.token);
        if (detokenizer_) emit(stops_.feed(detokenizer_->push(*event.token)), answer);
      }
    }
    if (event.finish_reason && !stops_.stopped()) {
      if (detokenizer_) emit(stops_.feed(detokenizer_->finish()), answer);
      if (!stops_.stopped()) emit(stops_.finish(), answer);
    }
    answer.timings.detokenize_s += seconds_between(now, Clock::now());
  }
  bool stopped() const { return stops_.stopped(); }

 private:
  void emit(const std::string& text, Answer& answer) {
    answer.text += text;
    if (on_text_ && !text.empty()) on_text_(text);
  }

  Runtime& runtime_;
  chat::StopMatcher stops_;
  const OnText& on_text_;
  std::optional<tokenizer::Detokenizer> detokenizer_;
  std::optional<Clock::time_point> last_token_;
};

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0.0;
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

double rate(std::size_t tokens, double seconds) {
  return seconds > 0.0 ? static_cast<double>(tokens) / seconds : 0.0;
}

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values)
    sum += value;
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

Json timings_json(const Answer& answer) {
  const AnswerTimings& t = answer.timings;
  return {{"load_s", t.load_s},
          {"queue_s", t.queue_s},
          {"template_s", t.template_s},
          {"tokenize_s", t.tokenize_s},
          {"prefill_s", t.prefill_s},
          {"decode_s", t.decode_s},
          {"sample_s", t.sample_s},
          {"detokenize_s", t.detokenize_s},
          {"unaccounted_s", t.unaccounted_s()},
          {"total_s", t.total_s},
          {"ttft_s", t.ttft_s ? Json(*t.ttft_s) : Json()},
          {"itl_p50_s", percentile(t.token_gaps_s, 0.5)},
          {"itl_p99_s", percentile(t.token_gaps_s, 0.99)},
          {"tpot_s", mean(t.token_gaps_s)},
          {"prefill_tokens_per_s", rate(answer.prompt_tokens - answer.cached_tokens, t.prefill_s)},
          {"decode_tokens_per_s", rate(t.token_gaps_s.size(), t.decode_s)}};
}

Json memory_json(Runtime& runtime) {
  runtime.note_scratch();
  Json memory = Json::object();
  const base::MemoryLedger& ledger = runtime.ledger();
  const auto stats = runtime.engine().stats();
  memory["weights_bytes"] = ledger.bytes(base::MemoryKind::kWeights);
  memory["kv_bytes"] = stats.num_blocks_touched * stats.block_bytes;
  memory["kv_allocated_bytes"] = stats.num_blocks * stats.block_bytes;
  memory["activations_bytes"] = ledger.bytes(base::MemoryKind::kActivations);
  memory["scratch_bytes"] = ledger.bytes(base::MemoryKind::kScratch);
  memory["prefix_cache_bytes"] = ledger.bytes(base::MemoryKind::kPrefixCache);
  memory["other_bytes"] = ledger.bytes(base::MemoryKind::kOther);
  memory["rss_bytes"] = base::rss_bytes().value_or(0);
  return memory;
}

}  // namespace

double AnswerTimings::unaccounted_s() const {
  return total_s - (load_s + queue_s + template_s + tokenize_s + prefill_s + decode_s + sample_s + detokenize_s);
}

Answer answer_prompt(Runtime& runtime, std::vector<TokenId> prompt, const AnswerOptions& options, AnswerTimings timings,
                     const OnText& on_text, const std::atomic<bool>* stop) {
  const Clock::time_point start = Clock::now();
  Answer answer;
  answer.timings = std::move(timings);
  const double spent_before = answer.timings.template_s + answer.timings.tokenize_s;
  AnswerWriter writer(runtime, chat::StopMatcher::create(options.stops).value_or_throw(), on_text);
  engine::Request request;
  request.prompt = std::move(prompt);
  request.sampling = options.sampling;
  request.max_tokens = options.max_tokens;
  request.eog_tokens = runtime.end_tokens();
  request.ignore_eos = options.ignore_eos;
  const auto on_event = [&](const engine::TokenEvent& event) {
    writer.on_event(event, answer);
    if (writer.stopped() && !event.finish_reason) runtime.engine().abort(event.request);
  };
  const engine::Generation generation =
      engine::generate(runtime.engine(), std::move(request), on_event, stop).value_or_throw();
  const engine::TokenEvent& last = generation.last;
  answer.finish_reason = writer.stopped() ? "stop" : std::string(engine::finish_reason_name(*last.finish_reason));
  answer.error = last.error;
  answer.prompt_tokens = last.prompt_tokens;
  answer.completion_tokens = last.completion_tokens;
  answer.cached_tokens = last.cached_tokens;
  answer.timings.queue_s = last.timings.queue_s;
  answer.timings.prefill_s = last.timings.prefill_s;
  answer.timings.decode_s = last.timings.decode_s;
  answer.timings.sample_s = last.timings.sample_s;
  if (last.timings.first_token_s) answer.timings.ttft_s = spent_before + *last.timings.first_token_s;
  answer.timings.total_s = answer.timings.load_s + spent_before + seconds_between(start, Clock::now());
  return answer;
}

Json to_json(const Answer& answer, Runtime& runtime, const std::vector<std::string>& warnings) {
  return {{"text", answer.text},
          {"token_ids", answer.token_ids},
          {"finish_reason", answer.finish_reason},
          {"usage",
           {{"prompt_tokens", answer.prompt_tokens},
            {"completion_tokens", answer.completion_tokens},
            {"cached_tokens", answer.cached_tokens}}},
          {"timings", timings_json(answer)},
          {"memory", memory_json(runtime)},
          {"warnings", warnings}};
}

void print_stats(const Answer& answer, Runtime& runtime, const Terminal& out) {
  const AnswerTimings& t = answer.timings;
  Table table{{"STAGE", "TIME", "DETAIL"}, {1}, {}};
  const auto row = [&](const char* stage, double seconds, const std::string& detail) {
    table.rows.push_back({stage, fmt::format("{:.2f} ms", seconds * 1e3), detail});
  };
  const std::size_t computed = answer.prompt_tokens - answer.cached_tokens;
  row("load", t.load_s, "");
  row("queue", t.queue_s, "");
  row("template", t.template_s, "");
  row("tokenize", t.tokenize_s, fmt::format("{} prompt tokens, {} cached", answer.prompt_tokens, answer.cached_tokens));
  row("prefill", t.prefill_s, fmt::format("{:.1f} tok/s", rate(computed, t.prefill_s)));
  row("decode", t.decode_s,
      fmt::format("{} tokens, {:.1f} tok/s", t.token_gaps_s.size(), rate(t.token_gaps_s.size(), t.decode_s)));
  row("sample", t.sample_s, "");
  row("detokenize", t.detokenize_s, "");
  row("unaccounted", t.unaccounted_s(), "");
  row("total", t.total_s, fmt::format("finish reason {}", answer.finish_reason));
  row("TTFT", t.ttft_s.value_or(0.0), "request to first token");
  row("ITL", percentile(t.token_gaps_s, 0.5),
      fmt::format("median; p99 {:.2f} ms", percentile(t.token_gaps_s, 0.99) * 1e3));
  row("TPOT", mean(t.token_gaps_s), "mean time per token after the first");
  out.print("\n");
  print_table(out, table);
  Table memory{{"MEMORY", "SIZE"}, {1}, {}};
  const Json sizes = memory_json(runtime);
  for (const auto& [name, bytes] : sizes.items()) {
    memory.rows.push_back({name.substr(0, name.rfind("_bytes")), hub::format_bytes(bytes.get<std::size_t>())});
  }
  out.print("\n");
  print_table(out, memory);
}

}  // namespace vitrine::cli
