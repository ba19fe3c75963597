#include "server/http/listener.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.h"
#include "server/http/connection.h"

namespace vitrine::server {
namespace {

using Tcp = asio::ip::tcp;
using Local = asio::local::stream_protocol;
using boost::system::error_code;

base::ErrorKind kind_of(const error_code& error) {
  if (error == asio::error::access_denied) return base::ErrorKind::kNoPermission;
  return base::ErrorKind::kUnavailable;
}

std::string advice_for(const error_code& error) {
  if (error == asio::error::address_in_use) return "; another program listens there: stop it or choose another --port";
  if (error == asio::error::access_denied) return "; ports under 1024 are for root: choose another --port";
  return "";
}

template <typename Acceptor>
Acceptor bind_to(const asio::any_io_executor& executor, const typename Acceptor::endpoint_type& endpoint,
                 const std::string& name) {
  Acceptor acceptor(executor);
  try {
    acceptor.open(endpoint.protocol());
    if constexpr (std::is_same_v<Acceptor, Tcp::acceptor>) acceptor.set_option(asio::socket_base::reuse_address(true));
    acceptor.bind(endpoint);
    acceptor.listen(asio::socket_base::max_listen_connections);
  } catch (const boost::system::system_error& error) {
    throw base::Exception(kind_of(error.code()), fmt::format("{}: can't listen: {}{}", name, error.code().message(),
                                                             advice_for(error.code())));
  }
  return acceptor;
}

Tcp::endpoint tcp_endpoint(const Listener::Address& address) {
  error_code error;
  const auto ip = asio::ip::make_address(address.host == "localhost" ? "127.0.0.1" : address.host, error);
  if (error) {
    throw base::Exception(base::ErrorKind::kUsage,
                          fmt::format("--host {}: not a numeric address; use one such as 127.0.0.1", address.host));
  }
  return {ip, address.port};
}

std::string url_of(const Tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return fmt::format("http://{}:{}", endpoint.address().is_v6() ? "[" + host + "]" : host, endpoint.port());
}

// Takes a socket file away that a dead process left; one that answers stays, and bind will fail.
void remove_stale_socket(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  asio::io_context context;
  Local::socket probe(context);
  error_code error;
  probe.connect(Local::endpoint(path), error);
  if (error == asio::error::connection_refused) ::unlink(path.c_str());
}

Local::endpoint local_endpoint(const std::string& path) {
  try {
    return {path};
  } catch (const boost::system::system_error&) {
    throw base::Exception(base::ErrorKind::kUsage, fmt::format("--unix {}: the path is too long for a socket", path));
  }
}

}  // namespace

class Listener::State {
 public:
  State(asio::any_io_executor executor, const Address& address, const Surroundings& surroundings)
      : executor_(std::move(executor)),
        limits_(surroundings.limits),
        strangers_(surroundings.strangers),
        handler_(surroundings.handler),
        unix_path_(address.unix_path) {
    if (unix_path_.empty()) {
      const Tcp::endpoint endpoint = tcp_endpoint(address);
      tcp_ = bind_to<Tcp::acceptor>(executor_, endpoint, url_of(endpoint));
    } else {
      remove_stale_socket(unix_path_);
      local_ = bind_to<Local::acceptor>(executor_, local_endpoint(unix_path_), "--unix " + unix_path_);
    }
  }
  ~State() { close(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void start() {
    if (tcp_) asio::co_spawn(executor_, accept_from(*tcp_), asio::detached);
    if (local_) asio::co_spawn(executor_, accept_from(*local_), asio::detached);
  }

  void close() {
    if (std::exchange(closing_, true)) return;
    error_code ignored;
    if (tcp_) tcp_->close(ignored);
    if (!local_) return;
    local_->close(ignored);
    ::unlink(unix_path_.c_str());
  }

  std::string url() const { return tcp_ ? url_of(tcp_->local_endpoint()) : "unix:" + unix_path_; }
  std::size_t num_connections() const { return num_connections_; }

 private:
  template <typename Acceptor>
  Awaitable<void> accept_from(Acceptor& acceptor) {
    while (!closing_) {
      error_code error;
      auto socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
      if (error == asio::error::operation_aborted) co_return;
      if (error) {  // no descriptor left, say: the next moment may be better
        co_await pause();
        continue;
      }
      if (num_connections_ >= limits_.num_connections) continue;  // closes it
      std::optional<StrangerCount::Place> stranger;
      if constexpr (std::is_same_v<Acceptor, Tcp::acceptor>) {
        const asio::ip::address address = socket.remote_endpoint(error).address();
        const bool is_counted = limits_.counts_loopback || !StrangerCount::is_local(address);
        if (is_counted) stranger = strangers_.admit(address);
        if (error || (is_counted && !stranger)) continue;
        socket.set_option(Tcp::no_delay(true), error);
      }
      socket.set_option(asio::socket_base::send_buffer_size(limits_.send_buffer_bytes), error);
      ++num_connections_;
      asio::co_spawn(executor_, serve(Socket(std::move(socket)), std::move(stranger)), asio::detached);
    }
  }

  Awaitable<void> serve(Socket socket, std::optional<StrangerCount::Place> stranger) {
    co_await serve_connection(std::move(socket), std::move(stranger), limits_, handler_, closing_);
    --num_connections_;
  }

  Awaitable<void> pause() {
    asio::steady_timer timer(executor_, std::chrono::milliseconds(100));
    co_await timer.async_wait(asio::use_awaitable);
  }

  asio::any_io_executor executor_;
  const HttpLimits& limits_;
  StrangerCount& strangers_;
  ExchangeHandler& handler_;
  std::string unix_path_;
  std::optional<Tcp::acceptor> tcp_;
  std::optional<Local::acceptor> local_;
  bool closing_ = false;
  std::size_t num_connections_ = 0;
};

Listener::Listener(asio::any_io_executor executor, const Address& address, const Surroundings& surroundings)
    : state_(std::make_unique<State>(std::move(executor), address, surroundings)) {}
Listener::~Listener() = default;

void Listener::start() {
  state_->start();
}

void Listener::close() {
  state_->close();
}

std::string Listener::url() const {
  return state_->url();
}

std::size_t Listener::num_connections() const {
  return state_->num_connections();
}

}  // namespace vitrine::server
