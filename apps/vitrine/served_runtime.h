#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "chat/chat_template.h"
#include "engine/engine_thread.h"
#include "engine/step_turns.h"
#include "server/model_pool.h"
#include "server/server.h"
#include "vitrine/runtime.h"
#include "vitrine/serve_plan.h"

namespace vitrine::cli {

// Brings the fault of an engine, which can come at any moment, to the server as long as there is one.
class FaultReport {
 public:
  // The server hears of faults as long as this lives, of one that came before at once.
  class Listener {
   public:
    Listener(FaultReport& report, server::Server& server) : report_(report) { report_.set_server(&server); }
    ~Listener() { report_.set_server(nullptr); }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

   private:
    FaultReport& report_;
  };

  // Any thread. The first fault stays.
  void report(const std::string& what);
  // The first fault; empty: none.
  std::string fault() const;

 private:
  void set_server(server::Server* server);

  mutable std::mutex mutex_;
  server::Server* server_ = nullptr;
  std::string fault_;
};

// A model of `vitrine serve` while it is loaded, with its engine and its thread.
class ServedRuntime final : public server::LoadedModel {
 public:
  // What all models of a server share; must outlive each of them.
  struct Shared {
    engine::StepTurns turns = {};
    FaultReport faults = {};
  };
  // Throws base::Exception, as Runtime does.
  ServedRuntime(const PlannedModel& plan, tools::ModelBundle bundle, Shared& shared);

  const server::ServedModel& served() const override { return served_; }
  std::size_t memory_bytes() const override { return runtime_.ledger().total_bytes(); }
  const std::vector<std::string>& warnings() const { return runtime_.warnings(); }

 private:
  Runtime runtime_;
  std::optional<chat::ChatTemplate> chat_template_;
  engine::EngineThread engine_;
  server::ServedModel served_;
};

}  // namespace vitrine::cli
