#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/thread_pool.hpp>
#include <nlohmann/json.hpp>

#include "server/accounting.h"
#include "server/http/exchange.h"
#include "server/live_requests.h"
#include "server/metrics.h"
#include "server/model_pool.h"
#include "server/planner.h"
#include "server/replay_store.h"
#include "server/trace_store.h"
#include "trace/otlp.h"

namespace vitrine::server {

// What the endpoints share. Used on the thread of the sockets; the models may be read by the workers too.
class Service {
 public:
  struct Options {
    bool strict = false;                     // unknown fields are refused, not warned of
    std::vector<std::string> allowed_hosts;  // further names in the Host header, beside those of the loopback
    bool is_exposed = false;                 // to other machines, which may call it by its address
    ModelPool::Options models = {};
    std::size_t xray_bytes = 0;               // that requests computed again for an X-ray may hold
    trace::SpanExporter* exporter = nullptr;  // of finished requests; null: there is none
    PlanMachine plan_machine = {};
  };
  // `accounting` is null where the server has no place for state: then there are no keys, and nothing is noted.
  Service(std::vector<ModelOffer> models, Options options, std::unique_ptr<Accounting> accounting);

  ModelPool& models() { return models_; }
  const Options& options() const { return options_; }
  // For templates, tokenizers and all else that would make other clients wait.
  asio::thread_pool& workers() { return workers_; }
  // Waits for what the workers do now, and for a model that is being loaded; the rest is dropped.
  void join_workers();

  Metrics& metrics() { return metrics_; }
  Accounting* accounting() { return accounting_.get(); }
  LiveRequests& live() { return live_; }
  TraceStore& traces() { return traces_; }
  const TraceStore& traces() const { return traces_; }
  ReplayStore& replays() { return replays_; }

  // Throws ApiException: 404 with the names there are, 403 where the key of the exchange is not for that model. An
  // empty name means the one model, where there is but one.
  ModelSlot& find_model(const Exchange& exchange, const std::string& name);
  // Those that the key of the exchange may use.
  std::vector<ModelSlot*> models_for(const Exchange& exchange);
  // Names of fields that nobody read: a warning each, or under `strict` an ApiException (400).
  std::vector<std::string> warn_of(const std::vector<std::string>& unread_fields) const;
  // Set when a step of an engine threw; nothing is answered any more.
  bool is_faulty() const { return is_faulty_; }
  void set_faulty() { is_faulty_ = true; }

 private:
  Options options_;
  ModelPool models_;
  bool is_faulty_ = false;
  Metrics metrics_;
  LiveRequests live_;
  TraceStore traces_;
  ReplayStore replays_;
  std::unique_ptr<Accounting> accounting_;
  asio::thread_pool workers_{1};
};

// Answers with a JSON object.
Awaitable<void> respond_json(Exchange& exchange, const nlohmann::ordered_json& value, unsigned status = 200);

}  // namespace vitrine::server
