#include "vitrine/xray_source.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "explain/report.h"
#include "tools/hub/http.h"
#include "vitrine/interrupt.h"

namespace vitrine::cli {
namespace {

using base::ErrorKind;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostAnswerBytes = std::size_t{256} << 20U;

class LocalXray final : public XraySource {
 public:
  LocalXray(Json document, explain::Replay& replay, const tokenizer::Tokenizer* tokenizer)
      : document_(std::move(document)), replay_(replay), tokenizer_(tokenizer) {}

  const Json& document() const override { return document_; }
  std::vector<float> logits(std::size_t step) override {
    const std::span<const float> row = replay_.logits(step);
    return {row.begin(), row.end()};
  }
  Json lens(std::size_t first, std::size_t count) override {
    return explain::to_json(replay_.lens(first, count), tokenizer_);
  }
  std::vector<float> attention(std::size_t layer) override { return replay_.attention_weights(layer); }

 private:
  Json document_;
  explain::Replay& replay_;
  const tokenizer::Tokenizer* tokenizer_;
};

// The message of an error of the API; the status where there is none.
std::string message_of(const std::string& body, long status) {
  const Json json = Json::parse(body, nullptr, false);
  if (json.is_object() && json.contains("error") && json["error"].is_object() && json["error"].contains("message"))
    return json["error"]["message"].get<std::string>();
  return fmt::format("it answered with status {}", status);
}

ErrorKind kind_of(long status) {
  switch (status) {
    case 400:
      return ErrorKind::kUsage;
    case 401:
    case 403:
      return ErrorKind::kNoPermission;
    case 404:
      return ErrorKind::kMissing;
    default:
      return ErrorKind::kUnavailable;
  }
}

class RemoteXray final : public XraySource {
 public:
  RemoteXray(const std::string& url, const std::string& request_id, std::string api_key)
      : base_(fmt::format("{}/v1/requests/{}/xray", root_of(url), request_id)),
        api_key_(std::move(api_key)),
        client_({}, [this] { return interrupt_.requested().load(); }) {
    document_ = Json::parse(get(""), nullptr, false);
    if (!document_.is_object() || !document_.contains("steps"))
      throw base::Exception(ErrorKind::kUnavailable,
                            base_ + ": what came is no X-ray; --url is the address of a vitrine serve");
  }

  const Json& document() const override { return document_; }
  std::vector<float> logits(std::size_t step) override { return floats(fmt::format("/logits?step={}", step)); }
  Json lens(std::size_t first, std::size_t count) override {
    return Json::parse(get(fmt::format("/lens?first={}&count={}", first, count)));
  }
  std::vector<float> attention(std::size_t layer) override { return floats(fmt::format("/attention?layer={}", layer)); }

 private:
  // Addresses with /v1 work for clients of the API, and so here.
  static std::string root_of(std::string url) {
    while (url.ends_with('/'))
      url.pop_back();
    if (url.ends_with("/v1")) url.resize(url.size() - 3);
    return url;
  }

  std::string get(const std::string& path) {
    std::string body;
    const hub::HttpRequest request{.url = base_ + path, .headers = {}, .bearer_token = api_key_};
    const hub::HttpResponse response = client_.get_text(request, kMostAnswerBytes, body).value_or_throw();
    if (!response.ok())
      throw base::Exception(kind_of(response.status), base_ + ": " + message_of(response.error_body, response.status));
    return body;
  }

  std::vector<float> floats(const std::string& path) {
    const std::string bytes = get(path);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
  }

  std::string base_;
  std::string api_key_;
  InterruptScope interrupt_;
  hub::HttpClient client_;
  Json document_;
};

}  // namespace

std::unique_ptr<XraySource> open_xray(Json document, explain::Replay& replay, const tokenizer::Tokenizer* tokenizer) {
  return std::make_unique<LocalXray>(std::move(document), replay, tokenizer);
}

std::unique_ptr<XraySource> open_xray(const std::string& url, const std::string& request_id,
                                      const std::string& api_key) {
  return std::make_unique<RemoteXray>(url, request_id, api_key);
}

}  // namespace vitrine::cli
