#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cost/prices.h"
#include "server/http/limits.h"
#include "server/model_pool.h"
#include "server/planner.h"
#include "server/server_log.h"
#include "store/key_plans.h"
#include "store/key_store.h"
#include "trace/otlp.h"

namespace vitrine::server {

struct ServerOptions {
  std::string host = "127.0.0.1";
  unsigned short port = 8080;              // 0: any free one
  std::string unix_path;                   // not empty: a Unix domain socket in place of host and port
  bool strict = false;                     // fields that no endpoint knows are refused
  std::vector<std::string> allowed_hosts;  // names in the Host header beside the loopback's
  ModelPool::Options models = {};
  PlanMachine plan_machine = {};
  store::KeyStore* keys = nullptr;  // outlives the server; null: nobody has a key, and no usage is noted
  store::Plans plans = {};          // limits that keys may name
  cost::PriceTable prices = {};     // what answers cost, for the usage ledger
  std::optional<std::int64_t> usage_keep_days = {};  // of the ledger's rows; absent: for ever
  std::size_t xray_bytes = std::size_t{256} << 20U;  // that requests computed again for an X-ray may hold
  LogOptions log = {};                               // by default there is none
  trace::SpanExporter* exporter = nullptr;           // of finished requests, outlives the server; null: there is none
  HttpLimits limits = {};
  std::chrono::seconds grace{30};  // what answers on their way may still take after a signal to stop
};

// The HTTP server. Everything but the engines and the loading of models runs on the thread that calls run().
class Server {
 public:
  // Binds at once. Throws base::Exception (kUnavailable, kNoPermission, kUsage, kConfig).
  Server(ServerOptions options, std::vector<ModelOffer> models);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Throws as the constructor would for options that contradict each other; binds nothing.
  static void check(const ServerOptions& options);

  std::string url() const;
  // Keys that were live at the start. Without any, whoever reaches the server may use it.
  std::size_t num_keys() const;
  // Serves until SIGTERM, SIGINT, stop() or fail(): then takes nothing new, gives what is on its way its grace, ends
  // what is left with an error, and returns. A second signal ends that at once.
  void run();
  // Any thread.
  void stop();
  // A model can't go on: /health says so, and the server stops within a second. Any thread.
  void fail();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace vitrine::server
