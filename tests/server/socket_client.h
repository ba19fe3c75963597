#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace vitrine::server {

// An answer as it came over the wire.
struct WireAnswer {
  int status = 0;
  std::string head;  // with the status line
  std::string body;  // chunks put together

  nlohmann::json json() const { return nlohmann::json::parse(body); }
  // The data of each server-sent event.
  std::vector<std::string> events() const;
};

// A client that sends any bytes, well formed or not, over TCP to this machine. Every read gives up after half a minute.
class SocketClient {
 public:
  // `receive_buffer_bytes`: what the kernel may hold for it; 0: as much as it likes.
  explicit SocketClient(int port, int receive_buffer_bytes = 0);
  ~SocketClient();
  SocketClient(const SocketClient&) = delete;
  SocketClient& operator=(const SocketClient&) = delete;

  void send(std::string_view bytes) const;
  // The next answer; status 0 where the connection ends without one.
  WireAnswer receive();
  // Some bytes more, whatever they are; empty at the end.
  std::string receive_some();
  // Whether the server has closed the connection, waiting for it.
  bool is_closed();

 private:
  bool fill();
  std::string take_line();
  std::string take(std::size_t num_bytes);
  std::string take_chunks();

  int socket_;
  std::string buffer_;
};

std::string post(std::string_view path, std::string_view body, std::string_view more_headers = "");
std::string get(std::string_view path, std::string_view more_headers = "");
// The header that presents an API key.
std::string bearer(std::string_view key);
// One request on a connection of its own.
WireAnswer ask(int port, std::string_view request);

}  // namespace vitrine::server
