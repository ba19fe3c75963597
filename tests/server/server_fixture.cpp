#include "server/server_fixture.h"

#include <chrono>
#include <utility>

#include "backends/cpu/cpu_memory.h"
#include "models/registry.h"
#include "plan/network.h"

namespace vitrine::server {

namespace {

std::shared_ptr<const ops::MemoryModel> plan_backend() {
  return std::make_shared<backends::cpu::CpuMemory>(backends::cpu::Isa::kGeneric, backends::cpu::PathTable::reference(),
                                                    1);
}

// A model that belongs to the test.
class ReadyModel final : public LoadedModel {
 public:
  explicit ReadyModel(ServedModel served) : served_(std::move(served)) {}
  const ServedModel& served() const override { return served_; }
  std::size_t memory_bytes() const override { return 0; }

 private:
  ServedModel served_;
};

}  // namespace

engine::EngineConfig TestServer::default_engine() {
  engine::EngineConfig config;
  config.context_length = 4096;
  config.max_sequences = 16;
  config.kv_memory_bytes = std::size_t{32} << 20U;
  return config;
}

engine::EngineConfig TestServer::patient_engine() {
  engine::EngineConfig config = default_engine();
  config.context_length = 1 << 18;
  config.kv_memory_bytes = std::size_t{512} << 20U;
  return config;
}

TestServer::TestServer(ServerOptions options, engine::EngineConfig config, const Quirks& quirks)
    : files_(quirks.has_nan_token),
      bundle_(tools::open_model(files_.path()).value_or_throw()),
      backend_({.isa = backends::cpu::choose_isa_from_environment().value_or_throw(),
                .num_threads = 1,
                .paths = backends::cpu::PathTable::reference(),
                .cache = std::nullopt}) {
  model_ = models::load_model(bundle_.files, backend_).value_or_throw();
  backend_.finish_loading();
  engine_ = engine::Engine::create(*model_, std::move(config), ledger_).value_or_throw();
  template_ = chat::ChatTemplate::compile(*bundle_.chat_template).value_or_throw();
  engine_thread_ = std::make_unique<engine::EngineThread>(
      *engine_, [this, expects_fault = quirks.expects_fault](const std::string& what) {
        if (!expects_fault) FAIL() << what;
        server_->fail();
        fault_.set_value(what);
      });
  ServedModel model;
  model.name = "tiny";
  model.tokenizer = bundle_.tokenizer.get();
  model.chat_template = &*template_;
  model.special_tokens = bundle_.special_tokens;
  model.engine = engine_thread_.get();
  const auto end_tokens = bundle_.tokenizer->end_of_generation();
  model.end_tokens = {end_tokens.begin(), end_tokens.end()};
  std::vector<ModelOffer> models;
  models.push_back({.name = "tiny",
                    .aliases = {"alias"},
                    .context_length = engine_->config().context_length,
                    .max_sequences = engine_->config().max_sequences,
                    .network = [this] { return plan::network_of(bundle_.files, *plan_backend()); },
                    .loaded = std::make_unique<ReadyModel>(std::move(model))});
  options.port = 0;
  options.plan_machine = {.backend = plan_backend(), .describe = [] {
                            return nlohmann::ordered_json{{"available_memory_bytes", std::size_t{1} << 30U}};
                          }};
  server_ = std::make_unique<Server>(std::move(options), std::move(models));
  const std::string url = server_->url();
  if (url.starts_with("http")) port_ = std::stoi(url.substr(url.rfind(':') + 1));
  thread_ = std::thread([this] { server_->run(); });
}

TestServer::~TestServer() {
  stop();
}

void TestServer::stop() {
  if (!thread_.joinable()) return;
  server_->stop();
  thread_.join();
}

bool TestServer::becomes_idle() const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (std::chrono::steady_clock::now() < deadline) {
    if (!engine_->has_work() && stats().num_blocks_in_use == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace vitrine::server
