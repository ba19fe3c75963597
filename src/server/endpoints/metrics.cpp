#include <utility>

#include "server/endpoints/endpoints.h"

namespace vitrine::server {

Awaitable<void> answer_metrics(Exchange& exchange, Service& service) {
  const trace::SpanExporter* exporter = service.options().exporter;
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = service.metrics().text(service.models(),
                                         exporter != nullptr ? exporter->counts() : trace::SpanExporter::Counts{});
  co_await exchange.respond(std::move(response));
}

}  // namespace vitrine::server
