#include "vitrine/xray_html.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/check.h"
#include "explain/replay.h"
#include "sampling/candidate_set.h"

namespace vitrine::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPlaceholder = R"("VITRINE_XRAY_DATA")";
constexpr std::size_t kTopLogits = 256;      // of each step
constexpr std::size_t kMostBytes = 2600000;  // of the data, so that the whole file stays below 3 MB

// Nothing in it ends the element that holds it, and no line of a script.
std::string inlined(const Json& data) {
  const std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '<') {
      safe += "\\u003c";
    } else if (text.compare(at, 3, "\u2028") == 0 || text.compare(at, 3, "\u2029") == 0) {
      safe += text[at + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      at += 2;
    } else {
      safe += text[at];
    }
  }
  return safe;
}

// Figures that are looked at need no 17 digits.
double rounded(double value, int digits) {
  return std::stod(fmt::format("{:.{}g}", value, digits));
}

Json top_logits(const std::vector<float>& logits, double log_sum_exp) {
  Json ids = Json::array();
  Json values = Json::array();
  for (const std::uint32_t id : sampling::top_positions(logits, kTopLogits)) {
    ids.push_back(id);
    values.push_back(rounded(static_cast<double>(logits[id]), 9));
  }
  return {{"ids", std::move(ids)}, {"logits", std::move(values)}, {"log_sum_exp", log_sum_exp}};
}

Json all_logits(XraySource& xray) {
  Json logits;
  Json& top = logits["top"] = Json::array();
  const Json& steps = xray.document().at("steps");
  for (std::size_t step = 0; step < steps.size(); ++step)
    top.push_back(top_logits(xray.logits(step), steps[step].at("log_sum_exp").get<double>()));
  return logits;
}

Json lens_from(XraySource& xray, std::size_t first) {
  Json lens;
  lens["first"] = first;
  lens["count"] = xray.num_positions() - first;
  lens["layers"] = Json::array();
  for (std::size_t at = first; at < xray.num_positions(); at += explain::Replay::kMaxLensPositions) {
    const std::size_t count = std::min(explain::Replay::kMaxLensPositions, xray.num_positions() - at);
    const Json part = xray.lens(at, count);
    for (std::size_t layer = 0; layer < part.at("layers").size(); ++layer) {
      if (lens["layers"].size() <= layer) lens["layers"].push_back(Json::array());
      for (Json cell : part.at("layers")[layer]) {
        cell["probability"] = rounded(cell.at("probability").get<double>(), 4);
        lens["layers"][layer].push_back(std::move(cell));
      }
    }
  }
  return lens;
}

// A byte a weight: 255 times its square root.
std::string coded(const std::vector<float>& weights) {
  std::string bytes;
  bytes.reserve(weights.size());
  for (const float weight : weights)
    bytes += static_cast<char>(static_cast<unsigned char>(std::lround(255.0F * std::sqrt(weight))));
  return base::encode_base64(bytes);
}

class Gatherer {
 public:
  explicit Gatherer(XraySource& xray) : xray_(xray) {
    data_["xray"] = xray.document();
    size_ = inlined(data_).size();
  }

  // In the order in which it would be missed most.
  Json gather() {
    add("logits", all_logits(xray_));
    const std::size_t prompt_tokens = xray_.document().at("prompt_tokens").get<std::size_t>();
    if (!add("lens", lens_from(xray_, 0))) add("lens", lens_from(xray_, prompt_tokens - 1));
    add_attention();
    return std::move(data_);
  }

 private:
  bool add(const char* name, Json part) {
    const std::size_t more = inlined(part).size() + 16;
    if (size_ + more > kMostBytes) return false;
    size_ += more;
    data_[name] = std::move(part);
    return true;
  }

  // Layers spread over the depth, as many as there is room for.
  void add_attention() {
    const Json& shape = xray_.document().at("shape");
    const std::size_t num_layers = shape.at("num_layers").get<std::size_t>();
    const std::size_t num_positions = xray_.num_positions();
    const std::size_t layer_bytes =
        shape.at("num_heads").get<std::size_t>() * num_positions * (num_positions + 1) / 2 * 4 / 3 + 16;
    const std::size_t room = std::min(num_layers, (kMostBytes - std::min(size_, kMostBytes)) / layer_bytes);
    for (std::size_t i = 0; i < room; ++i) {
      const std::size_t layer = room == 1 ? num_layers / 2 : i * (num_layers - 1) / (room - 1);
      data_["attention"][std::to_string(layer)] = coded(xray_.attention(layer));
    }
  }

  XraySource& xray_;
  Json data_;
  std::size_t size_ = 0;
};

}  // namespace

std::string xray_html(XraySource& xray, std::string_view page_template) {
  const std::size_t at = page_template.find(kPlaceholder);
  VT_CHECK(at != std::string_view::npos, "the report's template has a place for its data");
  return std::string(page_template.substr(0, at)) + inlined(Gatherer(xray).gather()) +
         std::string(page_template.substr(at + kPlaceholder.size()));
}

}  // namespace vitrine::cli
