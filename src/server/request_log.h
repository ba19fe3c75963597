#pragma once

#include <string_view>

#include "server/answer_note.h"
#include "server/server_log.h"

namespace vitrine::server {

// What there is to say of one request when it is over. Neither a key nor any text that was sent or answered.
struct RequestOutcome {
  std::string_view request_id = {};
  std::string_view method = {};
  std::string_view route = {};   // as the route table has it; empty: none was found
  std::string_view path = {};    // as the client wrote it, without its query
  unsigned status = 0;           // that was answered; 0: the server ended before
  std::string_view key_id = {};  // empty: no key was needed, or none was right
  const AnswerNote* answer = nullptr;
  double total_s = 0.0;
  std::string_view error = {};  // why it was refused or broken off
};

// The path stands in the line only where no route was found. The answers to probes of /health are left out as long as
// all is well.
void log_request(ServerLog& log, const RequestOutcome& outcome);

}  // namespace vitrine::server
