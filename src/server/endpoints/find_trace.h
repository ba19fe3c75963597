#pragma once

#include "server/http/exchange.h"
#include "server/service.h"

namespace vitrine::server {

// The trace of the request whose id stands in the path of the exchange. Throws ApiException (404), with the same words
// whether it is another's, too old, or never was. Valid until the coroutine waits.
const TraceStore::Entry& find_trace(const Exchange& exchange, const Service& service);

}  // namespace vitrine::server
