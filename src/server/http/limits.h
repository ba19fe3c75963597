#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace vitrine::server {

// What a client may cost before it is known, and how long it may take.
struct HttpLimits {
  std::uint32_t head_bytes = 32U << 10U;
  std::size_t num_headers = 64;
  std::uint64_t body_bytes = 8U << 20U;
  std::uint64_t unknown_body_bytes = 16U << 10U;  // read before the client's key is looked at
  std::chrono::seconds head_time{10};
  std::chrono::seconds body_time{30};
  std::chrono::seconds idle_time{75};   // between two requests of a connection
  std::chrono::seconds write_time{30};  // without any progress
  std::size_t num_connections = 4096;
  std::size_t num_strangers = 64;    // connections of one address, not the loopback's, before a key was shown
  bool counts_loopback = false;      // as any other address
  int send_buffer_bytes = 64 << 10;  // what the system may hold of an answer for a client that reads slowly
};

}  // namespace vitrine::server
