#pragma once

#include <utility>

#include "base/result.h"
#include "server/service.h"

namespace vitrine::server {

// Throws ApiException (503) where the server has no place for state.
Accounting& accounting_of(Service& service);

// An error of the store as a client is told it: 404 for an unknown key, 400 for what the client got wrong, else 503,
// whose reason is printed.
ApiException store_failure(const base::Error& error);

// Runs `work` on the store, where it may wait for the disk, and answers with what it returns.
template <typename Work>
auto in_store(Service& service, Work work) {
  auto job = [work = std::move(work)] {
    try {
      return work();
    } catch (const base::Exception& exception) {
      throw store_failure(exception.error());
    }
  };
  return run_on(service.workers(), std::move(job));
}

}  // namespace vitrine::server
