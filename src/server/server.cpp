#include "server/server.h"

#include <sys/resource.h>

#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.h"
#include "server/http/listener.h"
#include "server/router.h"

namespace vitrine::server {
namespace {

constexpr std::chrono::milliseconds kKeyInterval{500};  // how long the answer to a dead key may go on
constexpr std::chrono::seconds kCutTime{2};             // in which answers that a stop ends are told so
constexpr std::chrono::seconds kUseInterval{60};
constexpr std::chrono::milliseconds kModelInterval{500};  // between looks for models that nobody uses

bool is_exposed(const ServerOptions& options) {
  const bool is_loopback = options.host == "localhost" || options.host == "::1" || options.host.starts_with("127.");
  return !is_loopback && options.unix_path.empty();
}

// Without keys nobody but this machine's own users may come in.
Access open_access(const ServerOptions& options) {
  Access access(options.keys, options.plans);
  if (!is_exposed(options)) return access;
  if (access.num_live_keys() == 0) {
    throw base::Exception(base::ErrorKind::kConfig,
                          fmt::format("--host {}: other machines could use this server without a key; make one with "
                                      "`vitrine keys create NAME`, or use 127.0.0.1",
                                      options.host));
  }
  access.close();
  return access;
}

std::unique_ptr<Accounting> open_accounting(const ServerOptions& options) {
  if (options.keys == nullptr) return nullptr;
  return std::make_unique<Accounting>(*options.keys,
                                      Accounting::Settings{options.prices, options.plans, options.usage_keep_days});
}

// A connection takes a descriptor; the soft limit of most systems is made for programs that poll with select().
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

class Server::State {
 public:
  State(ServerOptions options, std::vector<ModelOffer> models)
      : options_(std::move(options)),
        access_(open_access(options_)),
        service_(std::move(models),
                 {.strict = options_.strict,
                  .allowed_hosts = options_.allowed_hosts,
                  .is_exposed = is_exposed(options_),
                  .models = options_.models,
                  .xray_bytes = options_.xray_bytes,
                  .exporter = options_.exporter,
                  .plan_machine = options_.plan_machine},
                 open_accounting(options_)),
        log_(options_.log),
        router_(service_, access_, log_),
        strangers_(options_.limits.num_strangers),
        listener_(context_.get_executor(), {options_.host, options_.port, options_.unix_path},
                  {options_.limits, strangers_, router_}),
        signals_(context_, SIGINT, SIGTERM),
        clock_(context_),
        key_clock_(context_),
        model_clock_(context_) {}

  std::string url() const { return listener_.url(); }
  std::size_t num_keys() const { return access_.num_live_keys(); }

  void run() {
    raise_descriptor_limit();
    log_start();
    listener_.start();
    await_signal();
    if (options_.keys != nullptr) watch_keys();
    if (service_.models().has_keep_alive()) watch_models();
    context_.run();
    log_.write(service_.is_faulty() ? LogLevel::kError : LogLevel::kInfo, "stop",
               {{"reason", service_.is_faulty() ? "engine_failed" : "asked"}, {"open_requests", router_.num_open()}});
    service_.join_workers();  // they may hold what the coroutines own
    if (options_.keys != nullptr) record_uses(*options_.keys, access_.take_uses());
  }

  void stop(std::chrono::milliseconds grace) {
    asio::post(context_, [this, grace] { begin_stop(grace); });
  }
  void fail() {
    asio::post(context_, [this] {
      service_.set_faulty();
      begin_stop(std::chrono::milliseconds(500));
    });
  }
  std::chrono::seconds grace() const { return options_.grace; }

 private:
  void await_signal() {
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (!error) begin_stop(options_.grace);
    });
  }

  void log_start() {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const ModelSlot& slot : service_.models().slots())
      names.push_back(slot.offer().name);
    log_.write(LogLevel::kInfo, "start", {{"url", url()}, {"models", names}, {"keys", num_keys()}});
  }

  void begin_stop(std::chrono::milliseconds grace) {
    if (std::exchange(is_stopping_, true)) return context_.stop();
    listener_.close();
    await_signal();
    deadline_ = std::chrono::steady_clock::now() + grace;
    check_stopped();
  }

  // Nobody tells of a change that another process makes.
  void watch_keys() {
    access_.refresh();
    router_.cut_dead_keys();
    const auto now = std::chrono::steady_clock::now();
    if (now - uses_recorded_ >= kUseInterval) {
      uses_recorded_ = now;
      asio::post(service_.workers(), [keys = options_.keys, uses = access_.take_uses()] { record_uses(*keys, uses); });
    }
    key_clock_.expires_after(kKeyInterval);
    key_clock_.async_wait([this](const boost::system::error_code& error) {
      if (!error) watch_keys();
    });
  }

  void watch_models() {
    service_.models().unload_idle(context_.get_executor());
    model_clock_.expires_after(kModelInterval);
    model_clock_.async_wait([this](const boost::system::error_code& error) {
      if (!error) watch_models();
    });
  }

  static void record_uses(store::KeyStore& keys, const std::map<std::string, std::int64_t>& uses_s) {
    try {
      if (!uses_s.empty()) keys.record_uses(uses_s);
    } catch (const base::Exception& exception) {
      fmt::print(stderr, "vitrine: the last use of keys is not noted: {}\n", exception.what());
    }
  }

  void check_stopped() {
    const auto now = std::chrono::steady_clock::now();
    // After a fault nothing more comes of them.
    const auto cut_time = service_.is_faulty() ? std::chrono::seconds(0) : kCutTime;
    if (router_.num_open() == 0 || now >= deadline_ + cut_time) return context_.stop();
    if (now >= deadline_) router_.cut_all();
    clock_.expires_after(std::chrono::milliseconds(20));
    clock_.async_wait([this](const boost::system::error_code& error) {
      if (!error) check_stopped();
    });
  }

  // The coroutines die with the context: what they use stands before it.
  ServerOptions options_;
  Access access_;
  Service service_;
  ServerLog log_;
  Router router_;
  StrangerCount strangers_;
  asio::io_context context_{1};
  Listener listener_;
  asio::signal_set signals_;
  asio::steady_timer clock_;
  asio::steady_timer key_clock_;
  asio::steady_timer model_clock_;
  std::chrono::steady_clock::time_point uses_recorded_ = std::chrono::steady_clock::now();
  bool is_stopping_ = false;
  std::chrono::steady_clock::time_point deadline_;
};

Server::Server(ServerOptions options, std::vector<ModelOffer> models)
    : state_(std::make_unique<State>(std::move(options), std::move(models))) {}
Server::~Server() = default;

void Server::check(const ServerOptions& options) {
  open_access(options);
}

std::string Server::url() const {
  return state_->url();
}

std::size_t Server::num_keys() const {
  return state_->num_keys();
}

void Server::run() {
  state_->run();
}

void Server::stop() {
  state_->stop(state_->grace());
}

void Server::fail() {
  state_->fail();
}

}  // namespace vitrine::server
