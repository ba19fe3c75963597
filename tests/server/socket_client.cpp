#include "server/socket_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <stdexcept>

#include <fmt/format.h>

namespace vitrine::server {
namespace {

constexpr int kPatienceMs = 30'000;

std::string header_value(const std::string& head, std::string_view name) {
  const std::size_t start = head.find(fmt::format("\r\n{}: ", name));
  if (start == std::string::npos) return "";
  const std::size_t value = start + name.size() + 4;
  return head.substr(value, head.find("\r\n", value) - value);
}

}  // namespace

std::vector<std::string> WireAnswer::events() const {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = body.find("\n\n", at);
    if (end == std::string::npos) throw std::runtime_error("an event without its end");
    const std::string event = body.substr(at, end - at);
    if (event.starts_with("data: ")) all.push_back(event.substr(6));
    at = end + 2;
  }
  return all;
}

SocketClient::SocketClient(int port, int receive_buffer_bytes)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer_bytes > 0)
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("connect failed");
}

SocketClient::~SocketClient() {
  ::close(socket_);
}

void SocketClient::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the server has had enough; what it said is still to be read
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool SocketClient::fill() {
  pollfd waiting{socket_, POLLIN, 0};
  if (::poll(&waiting, 1, kPatienceMs) != 1) throw std::runtime_error("no answer in time");
  char bytes[65536];
  const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  buffer_.append(bytes, static_cast<std::size_t>(got));
  return true;
}

std::string SocketClient::take(std::size_t num_bytes) {
  while (buffer_.size() < num_bytes && fill()) {
  }
  std::string taken = buffer_.substr(0, num_bytes);
  buffer_.erase(0, num_bytes);
  return taken;
}

std::string SocketClient::take_line() {
  std::size_t end = buffer_.find("\r\n");
  while (end == std::string::npos) {
    if (!fill()) return "";
    end = buffer_.find("\r\n");
  }
  return take(end + 2);
}

std::string SocketClient::take_chunks() {
  std::string body;
  for (;;) {
    const std::string line = take_line();
    std::size_t size = 0;
    std::from_chars(line.data(), line.data() + line.size(), size, 16);
    body += take(size);
    take(2);
    if (size == 0) return body;
  }
}

WireAnswer SocketClient::receive() {
  WireAnswer answer;
  for (std::string line = take_line(); line != "\r\n"; line = take_line()) {
    if (line.empty()) return answer;
    answer.head += line;
  }
  answer.status = std::stoi(answer.head.substr(9, 3));
  if (answer.status == 100) return receive();
  const std::string length = header_value(answer.head, "Content-Length");
  if (header_value(answer.head, "Transfer-Encoding") == "chunked") {
    answer.body = take_chunks();
  } else if (!length.empty()) {
    answer.body = take(std::stoul(length));
  } else {
    while (fill()) {
    }
    answer.body = std::exchange(buffer_, "");
  }
  return answer;
}

std::string SocketClient::receive_some() {
  if (buffer_.empty()) fill();
  return std::exchange(buffer_, "");
}

bool SocketClient::is_closed() {
  while (fill()) {
  }
  return true;
}

std::string get(std::string_view path, std::string_view more_headers) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", path, more_headers);
}

std::string post(std::string_view path, std::string_view body, std::string_view more_headers) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n{}", path,
      body.size(), more_headers, body);
}

std::string bearer(std::string_view key) {
  return fmt::format("Authorization: Bearer {}\r\n", key);
}

WireAnswer ask(int port, std::string_view request) {
  SocketClient client(port);
  client.send(request);
  return client.receive();
}

}  // namespace vitrine::server
