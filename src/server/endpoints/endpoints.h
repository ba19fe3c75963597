#pragma once

#include "server/service.h"

// One function an endpoint, each in a file of its own. They answer the exchange or throw ApiException.
namespace vitrine::server {

Awaitable<void> answer_chat_completion(Exchange& exchange, Service& service);
Awaitable<void> answer_text_completion(Exchange& exchange, Service& service);
Awaitable<void> answer_embeddings(Exchange& exchange, Service& service);
Awaitable<void> answer_models(Exchange& exchange, Service& service);
Awaitable<void> answer_requests(Exchange& exchange, Service& service);
Awaitable<void> answer_request_trace(Exchange& exchange, Service& service);
Awaitable<void> answer_xray(Exchange& exchange, Service& service);
Awaitable<void> answer_xray_logits(Exchange& exchange, Service& service);
Awaitable<void> answer_xray_lens(Exchange& exchange, Service& service);
Awaitable<void> answer_xray_attention(Exchange& exchange, Service& service);
Awaitable<void> answer_health(Exchange& exchange, Service& service);
Awaitable<void> answer_metrics(Exchange& exchange, Service& service);
Awaitable<void> answer_plan(Exchange& exchange, Service& service);
Awaitable<void> answer_live(Exchange& exchange, Service& service);
Awaitable<void> answer_tokenize(Exchange& exchange, Service& service);
Awaitable<void> answer_detokenize(Exchange& exchange, Service& service);
Awaitable<void> answer_apply_template(Exchange& exchange, Service& service);
Awaitable<void> answer_list_keys(Exchange& exchange, Service& service);
Awaitable<void> answer_plans(Exchange& exchange, Service& service);
Awaitable<void> answer_create_key(Exchange& exchange, Service& service);
Awaitable<void> answer_rotate_key(Exchange& exchange, Service& service);
Awaitable<void> answer_revoke_key(Exchange& exchange, Service& service);
Awaitable<void> answer_change_limits(Exchange& exchange, Service& service);
Awaitable<void> answer_usage(Exchange& exchange, Service& service);

// Whether whoever asks may see what is kept of a request: it is his own, or he is an admin.
bool may_see(const Exchange& exchange, const TraceStore::Entry& entry);

// The pages for people and what they load; the page looks at its path to know which one it is.
Awaitable<void> answer_web_page(Exchange& exchange, Service& service);
Awaitable<void> answer_web_asset(Exchange& exchange, Service& service);

}  // namespace vitrine::server
