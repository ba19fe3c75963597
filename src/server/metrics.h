#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/generation.h"
#include "server/model_pool.h"
#include "trace/otlp.h"

namespace vitrine::server {

// What the server counts, in the text format of Prometheus. Names are those of vLLM's dashboards where the meaning is
// the same, with "vllm:" in front; the rest begins with "vitrine_". Used on the thread of the sockets.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // `path` as the route table has it, or "other".
  void count_response(std::string_view path, unsigned status);
  // A request whose choices have all ended.
  void observe(const std::string& model, const GenerationReport& report);
  // With what the models hold now, and what an exporter of spans did.
  std::string text(const ModelPool& models, const trace::SpanExporter::Counts& spans);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace vitrine::server
