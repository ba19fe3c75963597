#include "server/route_table.h"

#include <array>
#include <vector>

#include "server/endpoints/endpoints.h"
#include "server/web_files.h"

namespace vitrine::server {
namespace {

constexpr std::array kRoutes = std::to_array<Route>({
    {"GET", "/", Scope::kPublic, answer_web_page},
    {"GET", "/xray", Scope::kPublic, answer_web_page},
    {"GET", "/live", Scope::kPublic, answer_web_page},
    {"GET", "/keys", Scope::kPublic, answer_web_page},
    {"GET", "/planner", Scope::kPublic, answer_web_page},
    {"GET", "/docs", Scope::kPublic, answer_web_page},
    {"GET", "/report.html", Scope::kPublic, answer_web_asset},
    {"GET", "/health", Scope::kPublic, answer_health},
    {"GET", "/metrics", Scope::kScrape, answer_metrics},
    {"GET", "/v1/admin/live", Scope::kAdmin, answer_live},
    {"GET", "/v1/models", Scope::kUser, answer_models},
    {"GET", "/v1/requests", Scope::kUser, answer_requests},
    {"GET", "/v1/plan", Scope::kUser, answer_plan},
    {"GET", "/v1/requests/{id}/trace", Scope::kUser, answer_request_trace},
    {"GET", "/v1/requests/{id}/xray", Scope::kUser, answer_xray},
    {"GET", "/v1/requests/{id}/xray/logits", Scope::kUser, answer_xray_logits},
    {"GET", "/v1/requests/{id}/xray/lens", Scope::kUser, answer_xray_lens},
    {"GET", "/v1/requests/{id}/xray/attention", Scope::kUser, answer_xray_attention},
    {"POST", "/v1/chat/completions", Scope::kUser, answer_chat_completion, true},
    {"POST", "/v1/completions", Scope::kUser, answer_text_completion, true},
    {"POST", "/v1/embeddings", Scope::kUser, answer_embeddings, true},
    {"POST", "/tokenize", Scope::kUser, answer_tokenize, true},
    {"POST", "/detokenize", Scope::kUser, answer_detokenize, true},
    {"POST", "/apply-template", Scope::kUser, answer_apply_template, true},
    {"GET", "/v1/admin/keys", Scope::kAdmin, answer_list_keys},
    {"POST", "/v1/admin/keys", Scope::kAdmin, answer_create_key},
    {"POST", "/v1/admin/keys/{id}/rotate", Scope::kAdmin, answer_rotate_key},
    {"POST", "/v1/admin/keys/{id}/revoke", Scope::kAdmin, answer_revoke_key},
    {"PATCH", "/v1/admin/keys/{id}/limits", Scope::kAdmin, answer_change_limits},
    {"GET", "/v1/admin/plans", Scope::kAdmin, answer_plans},
    {"GET", "/v1/admin/usage", Scope::kAdmin, answer_usage},
});

// And one for each file that the pages load.
std::vector<Route> all_routes() {
  std::vector<Route> routes(kRoutes.begin(), kRoutes.end());
  for (const WebFile& file : web_files()) {
    if (file.is_immutable()) routes.push_back({"GET", file.path, Scope::kPublic, answer_web_asset});
  }
  return routes;
}

}  // namespace

std::span<const Route> routes() {
  static const std::vector<Route> kAll = all_routes();
  return kAll;
}

}  // namespace vitrine::server
