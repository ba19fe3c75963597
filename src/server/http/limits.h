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
  std::uint64_t unknown_body_bytes = 64U << 10U;  // read before the client's key is looked at
  std::chrono::seconds head_time{10};
  std::chrono::seconds body_time{30};
  std::chrono::seconds idle_time{75};   // between two requests of a connection
  std::chrono::seconds write_time{30};  // without any progress
  std::size_t num_connections = 4096;
};

}  // namespace vitrine::server
