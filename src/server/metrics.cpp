#include "server/metrics.h"

#include <map>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace vitrine::server {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;
using Counters = prometheus::Family<prometheus::Counter>;
using Gauges = prometheus::Family<prometheus::Gauge>;
using prometheus::Labels;

const Buckets& seconds_buckets() {
  static const Buckets kBuckets = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5,
                                   0.75,  1,     2.5,  5,    7.5,  10,   20,   40,  80,   160};
  return kBuckets;
}

const Buckets& gap_buckets() {
  static const Buckets kBuckets = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1,
                                   0.15,  0.2,    0.3,   0.4,  0.5,   0.75, 1,     2.5};
  return kBuckets;
}

const Buckets& token_buckets() {
  static const Buckets kBuckets = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
  return kBuckets;
}

// A family of histograms with one set of buckets.
class Histograms {
 public:
  Histograms(prometheus::Registry& registry, const char* name, const char* help, const Buckets& buckets)
      : family_(prometheus::BuildHistogram().Name(name).Help(help).Register(registry)), buckets_(buckets) {}
  void observe(const Labels& labels, double value) { family_.Add(labels, buckets_).Observe(value); }

 private:
  prometheus::Family<prometheus::Histogram>& family_;
  const Buckets& buckets_;
};

double as_double(std::size_t value) {
  return static_cast<double>(value);
}

}  // namespace

class Metrics::State {
 public:
  void count_response(std::string_view path, unsigned status) {
    responses_.Add({{"path", std::string(path)}, {"status", std::to_string(status)}}).Increment();
  }

  void observe(const std::string& model, const GenerationReport& report) {
    const Labels labels{{"model_name", model}};
    const Usage& usage = report.usage;
    prompt_tokens_.Add(labels).Increment(as_double(usage.prompt_tokens));
    generation_tokens_.Add(labels).Increment(as_double(usage.completion_tokens));
    prefix_queries_.Add(labels).Increment(as_double(usage.prompt_tokens));
    prefix_hits_.Add(labels).Increment(as_double(usage.cached_tokens));
    request_prompt_tokens_.observe(labels, as_double(usage.prompt_tokens));
    request_generation_tokens_.observe(labels, as_double(usage.completion_tokens));
    for (const engine::FinishReason reason : report.finish_reasons)
      finished_.Add({{"model_name", model}, {"finished_reason", std::string(engine::finish_reason_name(reason))}})
          .Increment();
    observe_times(labels, report);
  }

  std::string text(const ModelPool& models, const trace::SpanExporter::Counts& spans) {
    raise(spans_.Add({{"outcome", "sent"}}), spans.sent);
    raise(spans_.Add({{"outcome", "dropped"}}), spans.dropped);
    for (const ModelSlot& slot : models.slots())
      take_slot(slot);
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

 private:
  void observe_times(const Labels& labels, const GenerationReport& report) {
    queue_time_.observe(labels, report.timings.queue_s);
    prefill_time_.observe(labels, report.timings.prefill_s);
    decode_time_.observe(labels, report.timings.decode_s);
    e2e_.observe(labels, report.total_s);
    const std::vector<double>& times = report.token_times_s;
    if (times.empty()) return;
    ttft_.observe(labels, times.front());
    for (std::size_t i = 1; i < times.size(); ++i)
      itl_.observe(labels, times[i] - times[i - 1]);
    if (times.size() > 1) tpot_.observe(labels, (times.back() - times.front()) / as_double(times.size() - 1));
  }

  void take_slot(const ModelSlot& slot) {
    const Labels labels{{"model_name", slot.offer().name}};
    const LoadedModel* loaded = slot.loaded();
    model_loaded_.Add(labels).Set(loaded != nullptr ? 1 : 0);
    model_bytes_.Add(labels).Set(loaded != nullptr ? as_double(loaded->memory_bytes()) : 0);
    raise(model_loads_.Add(labels), slot.num_loads());
    take_stats(labels, loaded != nullptr ? loaded->served().engine->stats() : engine::EngineStats{.num_blocks = 1});
  }

  void take_stats(const Labels& labels, const engine::EngineStats& stats) {
    running_.Add(labels).Set(as_double(stats.num_running));
    waiting_.Add(labels).Set(as_double(stats.num_waiting));
    kv_usage_.Add(labels).Set(as_double(stats.num_blocks_in_use) / as_double(stats.num_blocks));
    kv_cached_.Add(labels).Set(as_double(stats.num_blocks_cached * stats.block_bytes));
    advance(preemptions_.Add(labels), stats.num_preemptions);
    advance(steps_.Add(labels), stats.num_steps);
  }
  static void raise(prometheus::Counter& counter, std::size_t to) {
    counter.Increment(as_double(to) - counter.Value());
  }
  // The engine counts by itself, and from 0 again when its model was loaded again.
  void advance(prometheus::Counter& counter, std::size_t now) {
    const std::size_t before = std::exchange(engine_counts_[&counter], now);
    counter.Increment(as_double(now >= before ? now - before : now));
  }

  Counters& counters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
  }
  Gauges& gauges(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
  }

  prometheus::Registry registry_;
  std::map<const prometheus::Counter*, std::size_t> engine_counts_;  // as the engines had them last
  Counters& responses_ = counters("vitrine_http_responses_total", "Answers by path and status");
  Counters& prompt_tokens_ = counters("vllm:prompt_tokens_total", "Tokens of prompts");
  Counters& generation_tokens_ = counters("vllm:generation_tokens_total", "Tokens generated");
  Counters& prefix_queries_ =
      counters("vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache");
  Counters& prefix_hits_ = counters("vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache");
  Counters& finished_ = counters("vllm:request_success_total", "Answers by the reason of their end");
  Counters& preemptions_ = counters("vllm:num_preemptions_total", "Answers interrupted because KV blocks ran out");
  Counters& steps_ = counters("vitrine_engine_steps_total", "Forward passes");
  Counters& model_loads_ = counters("vitrine_model_loads_total", "How often the model was loaded");
  Counters& spans_ =
      counters("vitrine_otlp_spans_total", "Spans of requests that went to --otlp-endpoint or were dropped");
  Gauges& model_loaded_ = gauges("vitrine_model_loaded", "1 while the model is loaded");
  Gauges& model_bytes_ = gauges("vitrine_model_memory_bytes", "Weights, KV cache and buffers that the model holds");
  Gauges& running_ = gauges("vllm:num_requests_running", "Sequences that run");
  Gauges& waiting_ = gauges("vllm:num_requests_waiting", "Sequences that wait");
  Gauges& kv_usage_ = gauges("vllm:kv_cache_usage_perc", "Share of KV blocks in use, 1 for all");
  Gauges& kv_cached_ = gauges("vitrine_prefix_cache_bytes", "KV blocks kept for their prefix alone");
  Histograms ttft_{registry_, "vllm:time_to_first_token_seconds", "From the request to its first token",
                   seconds_buckets()};
  Histograms itl_{registry_, "vllm:inter_token_latency_seconds", "Each gap between two tokens", gap_buckets()};
  Histograms tpot_{registry_, "vllm:request_time_per_output_token_seconds", "The mean gap of a request", gap_buckets()};
  Histograms e2e_{registry_, "vllm:e2e_request_latency_seconds", "From the request to its last token",
                  seconds_buckets()};
  Histograms queue_time_{registry_, "vllm:request_queue_time_seconds", "Waiting", seconds_buckets()};
  Histograms prefill_time_{registry_, "vllm:request_prefill_time_seconds", "Computing the prompt", seconds_buckets()};
  Histograms decode_time_{registry_, "vllm:request_decode_time_seconds", "Computing the answer", seconds_buckets()};
  Histograms request_prompt_tokens_{registry_, "vllm:request_prompt_tokens", "Prompt tokens of a request",
                                    token_buckets()};
  Histograms request_generation_tokens_{registry_, "vllm:request_generation_tokens", "Generated tokens of a request",
                                        token_buckets()};
};

Metrics::Metrics() : state_(std::make_unique<State>()) {}
Metrics::~Metrics() = default;

void Metrics::count_response(std::string_view path, unsigned status) {
  state_->count_response(path, status);
}

void Metrics::observe(const std::string& model, const GenerationReport& report) {
  state_->observe(model, report);
}

std::string Metrics::text(const ModelPool& models, const trace::SpanExporter::Counts& spans) {
  return state_->text(models, spans);
}

}  // namespace vitrine::server
