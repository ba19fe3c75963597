#include "server/route_table.h"

#include <array>

#include "server/endpoints/endpoints.h"

namespace vitrine::server {
namespace {

constexpr std::array kRoutes = std::to_array<Route>({
    {"GET", "/health", Scope::kPublic, answer_health},
    {"GET", "/metrics", Scope::kAdmin, answer_metrics},
    {"GET", "/v1/models", Scope::kUser, answer_models},
    {"POST", "/v1/chat/completions", Scope::kUser, answer_chat_completion, true},
    {"POST", "/v1/completions", Scope::kUser, answer_text_completion, true},
    {"POST", "/tokenize", Scope::kUser, answer_tokenize, true},
    {"POST", "/detokenize", Scope::kUser, answer_detokenize, true},
    {"POST", "/apply-template", Scope::kUser, answer_apply_template, true},
    {"GET", "/v1/admin/keys", Scope::kAdmin, answer_list_keys},
    {"POST", "/v1/admin/keys", Scope::kAdmin, answer_create_key},
    {"POST", "/v1/admin/keys/{id}/rotate", Scope::kAdmin, answer_rotate_key},
    {"POST", "/v1/admin/keys/{id}/revoke", Scope::kAdmin, answer_revoke_key},
    {"PATCH", "/v1/admin/keys/{id}/limits", Scope::kAdmin, answer_change_limits},
    {"GET", "/v1/admin/usage", Scope::kAdmin, answer_usage},
});

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

}  // namespace vitrine::server
