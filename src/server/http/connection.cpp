#include "server/http/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/random.h"

namespace vitrine::server {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

using RequestParser = http::request_parser<http::string_body>;

// Takes the body out of the message.
HttpRequest to_request(http::request<http::string_body>& message) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  const std::string_view target(message.target().data(), message.target().size());
  const std::size_t mark = std::min(target.find('?'), target.size());
  request.path = std::string(target.substr(0, mark));
  request.query = std::string(target.substr(std::min(mark + 1, target.size())));
  for (const auto& field : message)
    request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  request.body = std::move(message.body());
  return request;
}

// The client closed its end, or the connection is broken. Bytes that wait are a pipelined request, no end.
bool is_closed(Socket& socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

// A socket whose operations end (operation_aborted) when their time is over; it stays open, so that the client can
// still be told why.
class TimedSocket {
 public:
  // While it lives, operations have its time.
  class Limit {
   public:
    explicit Limit(asio::steady_timer& timer) : timer_(timer) {}
    ~Limit() { timer_.expires_at(asio::steady_timer::time_point::max()); }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;

   private:
    asio::steady_timer& timer_;
  };

  explicit TimedSocket(Socket socket)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), self_(std::make_shared<TimedSocket*>(this)) {}

  Socket& socket() { return socket_; }
  [[nodiscard]] Limit limit(std::chrono::milliseconds time) {
    is_late_ = false;
    timer_.expires_after(time);
    timer_.async_wait([self = std::weak_ptr(self_)](const error_code& error) {
      const auto alive = self.lock();  // a wait that has ended already can't be called back
      if (!error && alive != nullptr) (*alive)->cut();
    });
    return Limit(timer_);
  }
  bool is_late() const { return is_late_; }

 private:
  void cut() {
    if (timer_.expiry() > std::chrono::steady_clock::now()) return;  // the operation ended meanwhile
    is_late_ = true;
    error_code ignored;
    socket_.cancel(ignored);
  }

  Socket socket_;
  asio::steady_timer timer_;
  std::shared_ptr<TimedSocket*> self_;
  bool is_late_ = false;
};

// The exchange over one request of a connection.
class ConnectionExchange final : public Exchange {
 public:
  ConnectionExchange(TimedSocket& stream, std::optional<StrangerCount::Place>& stranger, const HttpLimits& limits,
                     http::request<http::string_body> message, std::string id, TimePoint head_came)
      : Exchange(to_request(message), std::move(id), head_came),
        stream_(stream),
        stranger_(stranger),
        limits_(limits),
        version_(message.version()),
        keep_alive_(message.keep_alive()),
        is_head_(message.method() == http::verb::head) {}

  void set_grant(std::optional<store::KeyGrant> grant) override {
    if (grant) stranger_.reset();
    Exchange::set_grant(std::move(grant));
  }

  Awaitable<void> respond(HttpResponse answer) override {
    set_begun(answer.status);
    http::response<http::string_body> response = make_head<http::string_body>(answer.status, answer.content_type);
    for (const auto& [name, value] : answer.headers)
      response.insert(name, value);
    if (answer.status != 304) response.content_length(answer.body.size());  // there it would be the whole file's
    if (!is_head_) response.body() = std::move(answer.body);
    http::response_serializer<http::string_body> serializer(response);
    serializer.split(is_head_);
    while (is_head_ ? !serializer.is_header_done() : !serializer.is_done()) {
      const auto limit = stream_.limit(limits_.write_time);
      co_await http::async_write_some(stream_.socket(), serializer, asio::use_awaitable);
    }
  }

  Awaitable<void> begin_events() override {
    set_begun(200);
    http::response<http::empty_body> response = make_head<http::empty_body>(200, "text/event-stream; charset=utf-8");
    response.set(http::field::cache_control, "no-cache");
    response.set("x-accel-buffering", "no");  // a proxy must not collect the events
    if (is_chunked()) response.chunked(true);
    http::response_serializer<http::empty_body> serializer(response);
    const auto limit = stream_.limit(limits_.write_time);
    co_await http::async_write_header(stream_.socket(), serializer, asio::use_awaitable);
  }

  Awaitable<void> write_events(std::string events) override {
    if (events.empty()) co_return;  // a chunk of no bytes would end the answer
    if (is_chunked()) events = fmt::format("{:x}\r\n{}\r\n", events.size(), events);
    co_await write(events);
  }

  Awaitable<void> end_events() override {
    if (!is_chunked()) co_return;
    co_await write("0\r\n\r\n");
  }

  void watch(std::function<void()> gone) override {
    if (is_cut()) return gone();
    watch_ = std::make_shared<std::function<void()>>(std::move(gone));
    stream_.socket().async_wait(asio::socket_base::wait_read,
                                [&socket = stream_.socket(), watch = std::weak_ptr(watch_)](const error_code& error) {
                                  const auto alive = watch.lock();  // else the socket may be gone as well
                                  if (!error && alive != nullptr && is_closed(socket)) (*alive)();
                                });
  }

  void unwatch() override {
    if (watch_ == nullptr) return;
    watch_.reset();
    error_code ignored;
    stream_.socket().cancel(ignored);
  }

  void cut(CutReason reason) override {
    set_cut(reason);
    if (watch_ != nullptr) (*watch_)();
    error_code ignored;
    stream_.socket().cancel(ignored);
  }

  // Whether the connection can take another request.
  bool can_go_on() const { return keep_alive_ && has_begun(); }

 private:
  // Each part that the client takes gives it the whole time for the next.
  Awaitable<void> write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto limit = stream_.limit(limits_.write_time);
      const asio::const_buffer rest = asio::buffer(bytes);
      bytes.remove_prefix(co_await stream_.socket().async_write_some(rest, asio::use_awaitable));
    }
  }

  // A client of HTTP/1.0 knows no chunks: the end of the connection is the end of its events.
  bool is_chunked() const { return version_ >= 11; }

  template <typename Body>
  http::response<Body> make_head(unsigned status, const std::string& content_type) {
    http::response<Body> response;
    response.version(version_);
    response.result(status);
    response.set(http::field::server, "vitrine");
    response.set(http::field::content_type, content_type);
    response.set("x-request-id", id());
    for (const auto& [name, value] : headers())
      response.insert(name, value);
    if constexpr (std::is_same_v<Body, http::empty_body>) keep_alive_ = keep_alive_ && is_chunked();
    response.keep_alive(keep_alive_);
    return response;
  }

  TimedSocket& stream_;
  std::optional<StrangerCount::Place>& stranger_;
  const HttpLimits& limits_;
  unsigned version_;
  bool keep_alive_;
  bool is_head_;
  std::shared_ptr<std::function<void()>> watch_;  // shared with the wait that is on its way, weakly
};

// The status for what the parser refuses; nullopt where the client just went away.
std::optional<unsigned> refusal_status(const error_code& error) {
  if (error == http::error::end_of_stream || error == http::error::partial_message) return std::nullopt;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  if (error.category() == http::make_error_code(http::error::bad_method).category()) return 400;
  return std::nullopt;
}

// Lines that end in LF alone, or that go on the line before: readers differ in what they make of them.
bool has_odd_lines(std::string_view head) {
  for (std::size_t at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at + 1)) {
    if (at == 0 || head[at - 1] != '\r') return true;
    if (at + 1 < head.size() && (head[at + 1] == ' ' || head[at + 1] == '\t')) return true;
  }
  return false;
}

// The status for a head that is well formed but not taken.
std::optional<unsigned> check_head(const http::request<http::string_body>& head, const HttpLimits& limits) {
  if (std::distance(head.begin(), head.end()) > static_cast<std::ptrdiff_t>(limits.num_headers)) return 431;
  if (head.count(http::field::content_length) > 1 || head.count(http::field::host) > 1) return 400;
  // What follows is framed in one way only, or two servers could read it as different requests.
  if (head.count(http::field::transfer_encoding) > 0 &&
      (head.count(http::field::content_length) > 0 || !beast::iequals(head[http::field::transfer_encoding], "chunked")))
    return 400;
  if (head.version() >= 11 && head.count(http::field::host) == 0) return 400;
  const auto encoding = head[http::field::content_encoding];
  if (!encoding.empty() && !beast::iequals(encoding, "identity")) return 415;
  return std::nullopt;
}

class Connection {
 public:
  Connection(Socket socket, std::optional<StrangerCount::Place> stranger, const HttpLimits& limits,
             ExchangeHandler& handler, const bool& closing)
      : stream_(std::move(socket)),
        stranger_(std::move(stranger)),
        limits_(limits),
        handler_(handler),
        closing_(closing) {}

  Awaitable<void> run() {
    bool goes_on = true;
    while (goes_on && !closing_)
      goes_on = co_await serve_one();
    error_code ignored;
    stream_.socket().shutdown(asio::socket_base::shutdown_both, ignored);
  }

 private:
  // False when the connection is over.
  Awaitable<bool> serve_one() {
    RequestParser parser;
    parser.header_limit(limits_.head_bytes);
    parser.body_limit(limits_.body_bytes);
    error_code error;
    const std::string id = "req-" + base::random_hex(12);
    co_await read_head(parser, error);
    const auto head_came = std::chrono::steady_clock::now();
    std::optional<unsigned> status = status_of(error);
    if (!error && !status) status = check_head(parser.get(), limits_);
    if (!error && !status && may_be_long(parser)) {
      if (auto refusal = handler_.refuse_head(to_request(parser.get()), id))
        co_return co_await refuse(*std::move(refusal), id);
    }
    if (!error && !status) {
      co_await read_body(parser, error);
      status = status_of(error);
    }
    if (error || status) co_return co_await refuse(status, id);
    is_first_ = false;
    ConnectionExchange exchange(stream_, stranger_, limits_, parser.release(), id, head_came);
    co_await handler_.handle(exchange);
    co_return exchange.can_go_on();
  }

  // A client that asks before it sends its body is answered on its head alone too.
  bool may_be_long(const RequestParser& parser) const {
    const auto length = parser.content_length();
    return parser.chunked() || (length && *length > limits_.unknown_body_bytes) ||
           parser.get().count(http::field::expect) > 0;
  }

  std::optional<unsigned> status_of(const error_code& error) const {
    if (error && stream_.is_late()) return buffer_.size() > 0 || is_first_ ? std::optional(408U) : std::nullopt;
    return error ? refusal_status(error) : std::nullopt;
  }

  // The head alone is read, so that it can be looked at as it came.
  Awaitable<void> read_head(RequestParser& parser, error_code& error) {
    const auto limit = stream_.limit(is_first_ ? limits_.head_time : limits_.idle_time);
    std::size_t end = head().find("\r\n\r\n");
    while (end == std::string_view::npos && !has_odd_lines(head()) && buffer_.size() <= limits_.head_bytes) {
      const auto space = buffer_.prepare(kReadBytes);
      const std::size_t got =
          co_await stream_.socket().async_read_some(space, asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return;
      buffer_.commit(got);
      end = head().find("\r\n\r\n");
    }
    if (end == std::string_view::npos) end = head().size();
    if (has_odd_lines(head().substr(0, end))) {
      error = http::error::bad_line_ending;
    } else if (end > limits_.head_bytes || end == head().size()) {
      error = http::error::header_limit;
    } else {
      parser.eager(false);
      buffer_.consume(parser.put(asio::buffer(buffer_.data(), end + 4), error));
    }
  }
  std::string_view head() const { return {static_cast<const char*>(buffer_.data().data()), buffer_.size()}; }

  Awaitable<void> read_body(RequestParser& parser, error_code& error) {
    const auto limit = stream_.limit(limits_.body_time);
    if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      http::response<http::empty_body> go_on(http::status::continue_, 11);
      http::response_serializer<http::empty_body> serializer(go_on);
      co_await http::async_write(stream_.socket(), serializer, asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return;
    }
    co_await http::async_read(stream_.socket(), buffer_, parser, asio::redirect_error(asio::use_awaitable, error));
  }

  // Answers what never became a request, and closes: where the next one would begin is not known.
  Awaitable<bool> refuse(std::optional<unsigned> status, const std::string& id) {
    if (!status) co_return false;
    HttpResponse response = handler_.refuse(*status, id);
    co_return co_await refuse(std::move(response), id);
  }

  Awaitable<bool> refuse(HttpResponse response, const std::string& id) {
    http::request<http::string_body> nothing(http::verb::get, "/", 11);
    nothing.keep_alive(false);
    ConnectionExchange exchange(stream_, stranger_, limits_, std::move(nothing), id, std::chrono::steady_clock::now());
    co_await exchange.respond(std::move(response));
    co_await linger();
    co_return false;
  }

  // Bytes that nobody reads would make the close a reset, which can destroy the answer on its way.
  Awaitable<void> linger() {
    error_code error;
    stream_.socket().shutdown(asio::socket_base::shutdown_send, error);
    const auto limit = stream_.limit(std::chrono::seconds(1));
    std::array<char, 4096> scrap{};
    const auto buffer = asio::buffer(scrap);
    for (std::size_t left = std::size_t{1} << 20U; left > scrap.size() && !error; left -= scrap.size())
      co_await stream_.socket().async_read_some(buffer, asio::redirect_error(asio::use_awaitable, error));
  }

  static constexpr std::size_t kReadBytes = 4096;

  TimedSocket stream_;
  std::optional<StrangerCount::Place> stranger_;
  const HttpLimits& limits_;
  ExchangeHandler& handler_;
  const bool& closing_;
  beast::flat_buffer buffer_;
  bool is_first_ = true;
};

}  // namespace

Awaitable<void> serve_connection(Socket socket, std::optional<StrangerCount::Place> stranger, const HttpLimits& limits,
                                 ExchangeHandler& handler, const bool& closing) {
  Connection connection(std::move(socket), std::move(stranger), limits, handler, closing);
  try {
    co_await connection.run();
  } catch (const boost::system::system_error&) {  // the client is gone: nobody is left to be told
  }
}

}  // namespace vitrine::server
