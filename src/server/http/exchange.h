#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/answer_note.h"
#include "server/awaitable.h"
#include "server/http/message.h"
#include "server/quotas.h"
#include "server/request_trace.h"
#include "store/key_ring.h"

namespace vitrine::server {

// Why an answer is ended before it is whole: its client may have no more, or nobody can make it any more.
enum class CutReason { kNone, kDeadKey, kServerStops };

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

  // The API key with which it came; nothing where none was needed.
  const std::optional<store::KeyGrant>& grant() const { return grant_; }
  virtual void set_grant(std::optional<store::KeyGrant> grant) { grant_ = std::move(grant); }
  // Whose request it is: the id of its key, or nothing. Only requests of one tenant share cached prefixes, or the time
  // of an answer would tell one what another has asked.
  std::string tenant() const { return grant_ ? grant_->key_id : ""; }

  // Its place within the limits of its key; null where the request is not counted.
  Quotas::Ticket* ticket() const { return ticket_.get(); }
  void set_ticket(std::unique_ptr<Quotas::Ticket> ticket) { ticket_ = std::move(ticket); }

  // Where its time goes; null where nobody has begun to note it.
  RequestTrace* trace() { return trace_.get(); }
  // From when its head had come.
  void begin_trace();
  std::unique_ptr<RequestTrace> take_trace() { return std::move(trace_); }

  // What its answer took from a model; nothing where it asked none.
  const std::optional<AnswerNote>& note() const { return note_; }
  void set_note(AnswerNote note) { note_ = std::move(note); }

  // The path of its route as the route table has it.
  std::string_view route() const { return route_; }
  // What stands in the path in the places of the parts in braces of its route, in their order.
  const std::string& path_value(std::size_t index) const { return path_values_.at(index); }
  void set_route(std::string_view route, std::vector<std::string> path_values) {
    route_ = route;
    path_values_ = std::move(path_values);
  }

  // Headers of every answer from now on, beside its own.
  void set_headers(HttpHeaders headers) { headers_ = std::move(headers); }

  virtual Awaitable<void> respond(HttpResponse response) = 0;
  // The head of a stream of server-sent events.
  virtual Awaitable<void> begin_events() = 0;
  // `events`: any number of them, whole.
  virtual Awaitable<void> write_events(std::string events) = 0;
  virtual Awaitable<void> end_events() = 0;
  // `gone` is called once if the client closes the connection or cut() is called, until unwatch().
  virtual void watch(std::function<void()> gone) = 0;
  virtual void unwatch() = 0;
  // Ends the answer before it is whole: as though the client had gone, but it can still be told why,
  // unless a write waits for a client that reads nothing.
  virtual void cut(CutReason reason) = 0;
  bool is_cut() const { return cut_reason_ != CutReason::kNone; }
  CutReason cut_reason() const { return cut_reason_; }
  // Said by whoever watched that the client closed the connection.
  void set_gone() { is_gone_ = true; }
  bool is_gone() const { return is_gone_ && !is_cut(); }

 protected:
  using TimePoint = std::chrono::steady_clock::time_point;
  // With its body, which is here now.
  Exchange(HttpRequest request, std::string id, TimePoint head_came)
      : request_(std::move(request)), id_(std::move(id)), head_came_(head_came) {}
  void set_begun(unsigned status) { status_ = status; }
  void set_cut(CutReason reason) { cut_reason_ = reason; }
  const HttpHeaders& headers() const { return headers_; }

 private:
  HttpRequest request_;
  std::string id_;
  TimePoint head_came_;
  TimePoint body_came_ = std::chrono::steady_clock::now();
  std::optional<store::KeyGrant> grant_;
  std::unique_ptr<Quotas::Ticket> ticket_;
  std::unique_ptr<RequestTrace> trace_;
  std::optional<AnswerNote> note_;
  std::string_view route_;
  std::vector<std::string> path_values_;
  HttpHeaders headers_;
  unsigned status_ = 0;
  CutReason cut_reason_ = CutReason::kNone;
  bool is_gone_ = false;
};

// Answers exchanges. Must not throw anything but boost::system::system_error out of the exchange.
class ExchangeHandler {
 public:
  virtual ~ExchangeHandler() = default;
  virtual Awaitable<void> handle(Exchange& exchange) = 0;
  // For a request whose body is long and not read yet: the answer where its head alone is reason enough to refuse it.
  // `id`: as the header x-request-id of the answer will have it.
  virtual std::optional<HttpResponse> refuse_head(const HttpRequest& head, const std::string& id) = 0;
  // For what never becomes a request: too long, malformed, too slow.
  virtual HttpResponse refuse(unsigned status, const std::string& id) = 0;
};

}  // namespace vitrine::server
