#include "server/route_table.h"

#include <array>

#include "server/endpoints/endpoints.h"

namespace vitrine::server {
namespace {

constexpr std::array kRoutes = std::to_array<Route>({
    {"GET", "/health", Scope::kPublic, answer_health},
    {"GET", "/metrics", Scope::kAdmin, answer_metrics},
    {"GET", "/v1/models", Scope::kUser, answer_models},
    {"POST", "/v1/chat/completions", Scope::kUser, answer_chat_completion},
    {"POST", "/v1/completions", Scope::kUser, answer_text_completion},
    {"POST", "/tokenize", Scope::kUser, answer_tokenize},
    {"POST", "/detokenize", Scope::kUser, answer_detokenize},
    {"POST", "/apply-template", Scope::kUser, answer_apply_template},
});

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

}  // namespace vitrine::server
