#include "server/http/stranger_count.h"

#include <algorithm>

namespace vitrine::server {
namespace {

namespace ip = boost::asio::ip;

// What one machine may well have many of becomes the same.
ip::address machine_of(const ip::address& address) {
  if (!address.is_v6()) return address;
  if (address.to_v6().is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, address.to_v6());
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  return ip::address_v6(bytes);
}

}  // namespace

StrangerCount::Place::~Place() {
  if (counts_ == nullptr) return;
  const auto place = counts_->num_connections_.find(address_);
  if (--place->second == 0) counts_->num_connections_.erase(place);
}

bool StrangerCount::is_local(const ip::address& address) {
  return address.is_loopback() || machine_of(address).is_loopback();
}

std::optional<StrangerCount::Place> StrangerCount::admit(const ip::address& address) {
  const ip::address machine = machine_of(address);
  std::size_t& num_connections = num_connections_[machine];
  if (num_connections >= most_) return std::nullopt;
  ++num_connections;
  return Place(*this, machine);
}

}  // namespace vitrine::server
