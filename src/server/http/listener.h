#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "server/http/exchange.h"
#include "server/http/limits.h"
#include "server/http/stranger_count.h"

namespace vitrine::server {

// Accepts connections on one address and serves each with a coroutine of its own. HTTP/1.1 and 1.0, over TCP or a Unix
// domain socket. Used on the thread of the sockets; must outlive its connections.
class Listener {
 public:
  struct Address {
    std::string host;            // a numeric address, IPv4 or IPv6
    unsigned short port = 0;     // 0: any free one
    std::string unix_path = {};  // not empty: a Unix domain socket in place of host and port
  };

  // What its connections use; outlives the executor, with which they may die.
  struct Surroundings {
    const HttpLimits& limits;
    StrangerCount& strangers;
    ExchangeHandler& handler;
  };

  // Binds at once. Throws base::Exception (kUnavailable, kNoPermission, kUsage) naming the address.
  Listener(asio::any_io_executor executor, const Address& address, const Surroundings& surroundings);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void start();
  // Takes no further connection or request; answers on their way go on.
  void close();

  // "http://127.0.0.1:8080", or "unix:PATH".
  std::string url() const;
  std::size_t num_connections() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace vitrine::server
