#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "server/http/message.h"
#include "server/scope.h"
#include "store/key_ring.h"

namespace vitrine::server {

// Decides who may use a route, by the route's scope and the API key in the head of the request. Until there is a key
// all may be used by everyone, but for what an admin changes. Used on the thread of the sockets.
class Access {
 public:
  // `keys` may be null: then there are none, and never will be. `plans`: those that keys may name. Throws
  // base::Exception.
  explicit Access(const store::KeyStore* keys, store::Plans plans = {});

  // From now on every route that is not public needs a key. The same happens by itself as soon as there is one, and
  // lasts: revoking the last key must not open the server to everyone.
  void close() { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }
  // Keys that are not revoked, as of the last admit() or refresh().
  std::size_t num_live_keys() const { return ring_ ? ring_->num_live() : 0; }

  // Nothing where no key was needed. Throws ApiException: 401 that says what is wrong, 403 where the key is not for
  // this, 503 where the keys can't be read.
  std::optional<store::KeyGrant> admit(const HttpRequest& request, Scope scope);

  // Looks for changes that other processes made. False where the keys can't be read; the first of several such errors
  // is printed.
  bool refresh();
  bool holds(const store::KeyGrant& grant) const { return ring_->holds(grant); }

  // When keys were used since the last call, by id, in seconds since 1970.
  std::map<std::string, std::int64_t> take_uses();

 private:
  store::KeyGrant check(const HttpRequest& request);

  std::optional<store::KeyRing> ring_;
  bool is_closed_ = false;
  bool is_broken_ = false;
  std::map<std::string, std::int64_t> uses_s_;
};

}  // namespace vitrine::server
