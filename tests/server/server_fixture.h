#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "base/memory_ledger.h"
#include "chat/chat_template.h"
#include "engine/engine_thread.h"
#include "server/server.h"
#include "server/socket_client.h"
#include "support/chat_model.h"
#include "tools/open_model.h"

namespace vitrine::server {

// A server on a free port over the tiny model that can chat, called "tiny" and "alias", with its engine and its thread.
class TestServer {
 public:
  struct Quirks {
    bool has_nan_token = false;  // see testing::ChatModel
    bool expects_fault = false;  // of the engine, which ends the server
  };
  explicit TestServer(ServerOptions options = {}, engine::EngineConfig config = default_engine(),
                      const Quirks& quirks = {false, false});
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  static engine::EngineConfig default_engine();
  // Its answers can take many seconds.
  static engine::EngineConfig patient_engine();

  int port() const { return port_; }
  Server& server() { return *server_; }
  engine::Engine& engine() { return *engine_; }
  engine::EngineStats stats() const { return engine_thread_->stats(); }
  // Waits until every sequence is gone and its blocks are back; false after five seconds.
  bool becomes_idle() const;
  // Ends the server and waits for it.
  void stop();
  // The words of the fault that is expected.
  std::string wait_for_fault() { return fault_.get_future().get(); }
  // The server ends by itself.
  void wait_for_end() { thread_.join(); }

 private:
  testing::ChatModel files_;
  tools::ModelBundle bundle_;
  base::MemoryLedger ledger_;
  backends::cpu::CpuBackend backend_;
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<engine::Engine> engine_;
  std::optional<chat::ChatTemplate> template_;
  std::unique_ptr<engine::EngineThread> engine_thread_;
  std::promise<std::string> fault_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
  int port_ = 0;
};

}  // namespace vitrine::server
