#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include <boost/asio/ip/address.hpp>

namespace vitrine::server {

// Connections that have not shown an API key yet, by the address of the other end, so that one machine can't take all
// of the server's places before it is known; of IPv6 by the network of 64 bits that such a machine has to itself. Used
// on the thread of the sockets.
class StrangerCount {
 public:
  // One connection, for as long as this lives. Must not outlive the count.
  class Place {
   public:
    Place(Place&& other) noexcept
        : counts_(std::exchange(other.counts_, nullptr)), address_(std::move(other.address_)) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(counts_, other.counts_);
      std::swap(address_, other.address_);
      return *this;
    }
    ~Place();

   private:
    friend class StrangerCount;
    Place(StrangerCount& counts, boost::asio::ip::address address) : counts_(&counts), address_(std::move(address)) {}

    StrangerCount* counts_;
    boost::asio::ip::address address_;
  };

  explicit StrangerCount(std::size_t most) : most_(most) {}

  // This machine itself, however it is written.
  static bool is_local(const boost::asio::ip::address& address);

  // nullopt where the address has as many as one may have.
  std::optional<Place> admit(const boost::asio::ip::address& address);

 private:
  std::size_t most_;
  std::map<boost::asio::ip::address, std::size_t> num_connections_;  // of addresses that have any
};

}  // namespace vitrine::server
