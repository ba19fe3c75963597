#pragma once

#include <functional>
#include <string>
#include <utility>

#include "server/awaitable.h"
#include "server/http/message.h"

namespace vitrine::server {

// One request and the way to answer it: either respond() once, or begin_events(), write_events() any number of times
// and end_events(). Used on the thread of the sockets. Functions that write throw boost::system::system_error when the
// client is gone or takes nothing for too long; the connection is over then.
class Exchange {
 public:
  virtual ~Exchange() = default;

  const HttpRequest& request() const { return request_; }
  const std::string& id() const { return id_; }  // in the header x-request-id of every answer
  // Whether the head of an answer is out: an error can no longer be a status.
  bool has_begun() const { return status_ != 0; }
  // The status that went out; 0 before that.
  unsigned status() const { return status_; }

  virtual Awaitable<void> respond(HttpResponse response) = 0;
  // The head of a stream of server-sent events.
  virtual Awaitable<void> begin_events() = 0;
  // `events`: any number of them, whole.
  virtual Awaitable<void> write_events(std::string events) = 0;
  virtual Awaitable<void> end_events() = 0;
  // `gone` is called once if the client closes the connection, until unwatch().
  virtual void watch(std::function<void()> gone) = 0;
  virtual void unwatch() = 0;

 protected:
  Exchange(HttpRequest request, std::string id) : request_(std::move(request)), id_(std::move(id)) {}
  void set_begun(unsigned status) { status_ = status; }

 private:
  HttpRequest request_;
  std::string id_;
  unsigned status_ = 0;
};

// Answers exchanges. Must not throw anything but boost::system::system_error out of the exchange.
class ExchangeHandler {
 public:
  virtual ~ExchangeHandler() = default;
  virtual Awaitable<void> handle(Exchange& exchange) = 0;
  // For what never becomes a request: too long, malformed, too slow.
  virtual HttpResponse refuse(unsigned status) const = 0;
};

}  // namespace vitrine::server
