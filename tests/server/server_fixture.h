#pragma once

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
  explicit TestServer(ServerOptions options = {}, engine::EngineConfig config = default_engine());
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  static engine::EngineConfig default_engine();
  // Its answers can take many seconds.
  static engine::EngineConfig patient_engine();

  int port() const { return port_; }
  Server& server() { return *server_; }
  engine::EngineStats stats() const { return engine_thread_->stats(); }
  // Waits until every sequence is gone and its blocks are back; false after five seconds.
  bool becomes_idle() const;
  // Ends the server and waits for it.
  void stop();

 private:
  testing::ChatModel files_;
  tools::ModelBundle bundle_;
  base::MemoryLedger ledger_;
  backends::cpu::CpuBackend backend_;
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<engine::Engine> engine_;
  std::optional<chat::ChatTemplate> template_;
  std::unique_ptr<engine::EngineThread> engine_thread_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
  int port_ = 0;
};

}  // namespace vitrine::server
