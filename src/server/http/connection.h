#pragma once

#include <optional>

#include <boost/asio/generic/stream_protocol.hpp>

#include "server/http/exchange.h"
#include "server/http/limits.h"
#include "server/http/stranger_count.h"

namespace vitrine::server {

// TCP and Unix domain sockets alike.
using Socket = asio::generic::stream_protocol::socket;

// Reads requests from the socket and has each answered, until either side wants no more or `closing` is true after an
// answer. Ends without an exception; the socket is closed then. `stranger` is given back with the first request that
// comes with a key.
Awaitable<void> serve_connection(Socket socket, std::optional<StrangerCount::Place> stranger, const HttpLimits& limits,
                                 ExchangeHandler& handler, const bool& closing);

}  // namespace vitrine::server
