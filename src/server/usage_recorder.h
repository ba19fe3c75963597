#pragma once

#include <boost/asio/any_io_executor.hpp>

#include "server/accounting.h"
#include "server/generation.h"
#include "server/http/exchange.h"

namespace vitrine::server {

// Writes the ledger's row of one generation, whatever becomes of it, and settles with the limits of its key. Everything
// that it is made of outlives it. Without accounting it does no more than leave the exchange its note.
class UsageRecorder {
 public:
  UsageRecorder(asio::any_io_executor executor, Exchange& exchange, Accounting* accounting,
                const Generation& generation);
  // What was not recorded by then (the server ends) is written, but nobody waits for it.
  ~UsageRecorder();
  UsageRecorder(const UsageRecorder&) = delete;
  UsageRecorder& operator=(const UsageRecorder&) = delete;

  // Once, when all choices have ended: waits until the row is on the disk. Throws ApiException (503) where it can't be
  // written: an answer that nobody could account for is not given.
  Awaitable<void> record();
  bool is_recorded() const { return is_recorded_; }

 private:
  store::UsageRow make_row() const;
  AnswerNote make_note() const;

  asio::any_io_executor executor_;
  Exchange& exchange_;
  Accounting* accounting_;
  const Generation& generation_;
  bool is_recorded_ = false;
};

}  // namespace vitrine::server
