#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/memory_ledger.h"
#include "plan/report.h"
#include "server/api_error.h"
#include "server/endpoints/endpoints.h"
#include "server/query.h"

namespace vitrine::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kUsualContext = 4096;
constexpr std::size_t kMostValues = 16;  // of one list
constexpr std::size_t kMostContext = std::size_t{1} << 30U;
constexpr std::size_t kMostBatch = std::size_t{1} << 20U;

// What the query asks for.
struct PlanWish {
  std::string model;  // of the server; empty: the shape
  std::string shape;
  std::string type;                          // of a shape's weights
  std::vector<std::size_t> context_lengths;  // empty: the usual one
  std::vector<std::size_t> batches;
  std::vector<tensor::DType> kv_types;
};

std::vector<std::string> split_list(const std::string& name, std::string_view text) {
  std::vector<std::string> values;
  while (true) {
    const std::size_t comma = text.find(',');
    values.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (values.size() > kMostValues) throw bad_field(name, fmt::format("more than {} values", kMostValues));
  return values;
}

std::vector<std::size_t> read_sizes(const Query& query, const char* name, std::size_t most) {
  std::vector<std::size_t> sizes;
  const auto text = query.text(name);
  if (!text) return sizes;
  for (const std::string& word : split_list(name, *text)) {
    std::size_t size = 0;
    const char* last = word.data() + word.size();
    const auto [end, error] = std::from_chars(word.data(), last, size);
    if (error != std::errc() || end != last || size == 0 || size > most)
      throw bad_field(name, fmt::format("whole numbers from 1 to {}, with commas between them", most));
    sizes.push_back(size);
  }
  return sizes;
}

std::vector<tensor::DType> read_kv_types(const Query& query) {
  std::vector<tensor::DType> types;
  for (const std::string& word : split_list("kv_type", query.text("kv_type").value_or("f16"))) {
    const tensor::DTypeInfo* info = tensor::find_dtype(word);
    if (info == nullptr) throw bad_field("kv_type", "use f16, bf16, f32, q8_0 or q4_0");
    types.push_back(info->type);
  }
  return types;
}

PlanWish read_wish(const std::string& text) {
  const Query query(text, {"model", "shape", "type", "context", "batch", "kv_type"});
  PlanWish wish{.model = query.text("model").value_or(""),
                .shape = query.text("shape").value_or(""),
                .type = query.text("type").value_or("q4_k_m"),
                .context_lengths = read_sizes(query, "context", kMostContext),
                .batches = read_sizes(query, "batch", kMostBatch),
                .kv_types = read_kv_types(query)};
  if (!wish.model.empty() && !wish.shape.empty()) throw bad_field("shape", "give a model or a shape, not both");
  if (wish.batches.empty()) wish.batches = {1};
  return wish;
}

const plan::ModelShape& find_shape(const std::string& name) {
  const plan::ModelShape* shape = plan::find_model_shape(name);
  if (shape != nullptr) return *shape;
  std::vector<std::string_view> names;
  for (const plan::ModelShape& known : plan::model_shapes())
    names.push_back(known.name);
  throw bad_field("shape", fmt::format("not known; there is {}", fmt::join(names, ", ")));
}

// Of a model as it lies on disk, without the place.
plan::PlanSubject subject_of(const ModelOffer& offer) {
  plan::PlanSubject subject{offer.name, "", "", offer.network()};
  subject.weights = tensor::dtype_info(plan::usual_type(subject.network)).name;
  return subject;
}

// What else could be asked for.
Json choices(const std::vector<ModelSlot*>& models) {
  Json json;
  json["models"] = Json::array();
  for (const ModelSlot* slot : models) {
    if (slot->offer().network) json["models"].push_back(slot->offer().name);
  }
  for (const plan::ModelShape& shape : plan::model_shapes())
    json["shapes"].push_back(shape.name);
  json["kv_types"] = {"f16", "bf16", "f32", "q8_0", "q4_0"};
  return json;
}

// On a worker: reads the header of the model's file where one is asked for.
Json make_plan(PlanWish wish, const ModelOffer* offer, const PlanMachine& machine) {
  const plan::PlanSubject subject =
      offer != nullptr ? subject_of(*offer) : plan::subject_of(find_shape(wish.shape), wish.type);
  Json described = machine.describe();
  // In this server's place, not beside it.
  const std::size_t held_bytes = base::rss_bytes().value_or(0);
  const std::size_t available = described.at("available_memory_bytes").get<std::size_t>() + held_bytes;
  described["available_memory_bytes"] = available;
  described["held_by_server_bytes"] = held_bytes;
  if (wish.context_lengths.empty())
    wish.context_lengths = {std::min(kUsualContext, subject.network.config.context_length)};
  const plan::PlanQuestion question{.context_lengths = std::move(wish.context_lengths),
                                    .batches = std::move(wish.batches),
                                    .kv_types = std::move(wish.kv_types),
                                    .max_chunk_tokens = machine.max_chunk_tokens,
                                    .num_threads = machine.num_threads,
                                    .available_bytes = available};
  const plan::PlanReport report{subject, plan::plan_rows(subject.network, *machine.backend, question), {}};
  return plan::to_json(report, std::move(described));
}

// The model that is asked about; null for a shape. Without either the first model.
const ModelOffer* find_offer(const PlanWish& wish, const Exchange& exchange, Service& service) {
  if (!wish.shape.empty()) return nullptr;
  const std::vector<ModelSlot*> models = service.models_for(exchange);
  const bool is_first = wish.model.empty() && !models.empty();
  const ModelOffer& offer = is_first ? models.front()->offer() : service.find_model(exchange, wish.model).offer();
  if (!offer.network) throw bad_field("model", "its sizes are not known here; give a shape");
  return &offer;
}

}  // namespace

Awaitable<void> answer_plan(Exchange& exchange, Service& service) {
  const PlanMachine& machine = service.options().plan_machine;
  if (machine.backend == nullptr)
    throw ApiException({.status = 404, .message = "this server has no planner", .code = "not_found"});
  PlanWish wish = read_wish(exchange.request().query);
  const ModelOffer* offer = find_offer(wish, exchange, service);
  auto work = [&machine, offer, asked = std::move(wish)] {
    try {
      return make_plan(asked, offer, machine);
    } catch (const base::Exception& exception) {
      if (exception.error().kind != base::ErrorKind::kUsage) throw;
      throw ApiException({.message = exception.what(), .code = "invalid_value"});
    }
  };
  Json json = co_await run_on(service.workers(), std::move(work));
  json["choices"] = choices(service.models_for(exchange));
  co_await respond_json(exchange, json);
}

}  // namespace vitrine::server
