#pragma once

#include <functional>
#include <optional>
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

  // Whose request it is: the id of its API key, empty where none was needed. Only requests of one tenant share cached
  // prefixes, or the time of an answer would tell one what another has asked.
  const std::string& tenant() const { return tenant_; }
  void set_tenant(std::string tenant) { tenant_ = std::move(tenant); }

  virtual Awaitable<void> respond(HttpResponse response) = 0;
  // The head of a stream of server-sent events.
  virtual Awaitable<void> begin_events() = 0;
  // `events`: any number of them, whole.
  virtual Awaitable<void> write_events(std::string events) = 0;
  virtual Awaitable<void> end_events() = 0;
  // `gone` is called once if the client closes the connection or cut() is called, until unwatch().
  virtual void watch(std::function<void()> gone) = 0;
  virtual void unwatch() = 0;
  // Ends the answer because its client may have no more: as though the client had gone, but it can still be told why,
  // unless a write waits for a client that reads nothing.
  virtual void cut() = 0;
  bool is_cut() const { return is_cut_; }

 protected:
  Exchange(HttpRequest request, std::string id) : request_(std::move(request)), id_(std::move(id)) {}
  void set_begun(unsigned status) { status_ = status; }
  void set_cut() { is_cut_ = true; }

 private:
  HttpRequest request_;
  std::string id_;
  std::string tenant_;
  unsigned status_ = 0;
  bool is_cut_ = false;
};

// Answers exchanges. Must not throw anything but boost::system::system_error out of the exchange.
class ExchangeHandler {
 public:
  virtual ~ExchangeHandler() = default;
  virtual Awaitable<void> handle(Exchange& exchange) = 0;
  // For a request whose body is long and not read yet: the answer where its head alone is reason enough to refuse it.
  virtual std::optional<HttpResponse> refuse_head(const HttpRequest& head) = 0;
  // For what never becomes a request: too long, malformed, too slow.
  virtual HttpResponse refuse(unsigned status) const = 0;
};

}  // namespace vitrine::server
