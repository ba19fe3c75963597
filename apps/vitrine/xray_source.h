#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "explain/replay.h"
#include "tokenizer/tokenizer.h"

namespace vitrine::cli {

// An X-ray (docs/explain.md): its document, and the parts that are too large for it. Used by one thread.
class XraySource {
 public:
  virtual ~XraySource() = default;

  virtual const nlohmann::ordered_json& document() const = 0;
  // The model's logits for a token of the answer, [vocab_size].
  virtual std::vector<float> logits(std::size_t step) = 0;
  // {first, count, layers} of at most 32 positions.
  virtual nlohmann::ordered_json lens(std::size_t first, std::size_t count) = 0;
  // Of all heads of a layer, [num_heads][T * (T + 1) / 2].
  virtual std::vector<float> attention(std::size_t layer) = 0;

  std::size_t num_positions() const { return document().at("kv").at("tokens_held").get<std::size_t>(); }
};

// Of a replay in this process, which has ended and must outlive it; `tokenizer` may be null.
std::unique_ptr<XraySource> open_xray(nlohmann::ordered_json document, explain::Replay& replay,
                                      const tokenizer::Tokenizer* tokenizer);

// Of a request that a server has answered, by its x-request-id. Throws base::Exception: kUnavailable where the server
// does not answer, kMissing where it knows no such request, kNoPermission where the key is refused.
std::unique_ptr<XraySource> open_xray(const std::string& url, const std::string& request_id,
                                      const std::string& api_key);

}  // namespace vitrine::cli
