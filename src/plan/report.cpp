#include "plan/report.h"

#include <algorithm>
#include <utility>

#include "kvcache/block_id.h"

namespace vitrine::plan {
namespace {

using Json = nlohmann::ordered_json;

// So that no sum of bytes overflows.
void check_sizes(const Network& network, tensor::DType kv_type, const std::vector<std::size_t>& context_lengths) {
  constexpr double kMost = 4e18;
  constexpr double kMostUsers = 1 << 20;
  const auto longest = static_cast<double>(
      std::max(*std::ranges::max_element(context_lengths), network.config.context_length) + kvcache::kBlockTokens);
  const std::size_t copied = 4 * network.config.hidden_size;  // what the copied formula takes a row to be
  const auto row = static_cast<double>(std::max(copied, kv_row_bytes(network.kv, kv_type).value_or_throw()));
  if (row * longest * static_cast<double>(network.kv.num_layers) * kMostUsers < kMost) return;
  throw base::Exception(base::ErrorKind::kUsage, "context: longer than can be reckoned with for such a model");
}

Json speed_json(const std::optional<Speed>& speed, double Speed::*member) {
  return speed ? Json(*speed.*member) : Json();
}

Json formula_json(const KvFormula& formula) {
  return {{"text", formula.formula},
          {"bytes", formula.bytes},
          {"copied_text", formula.copied},
          {"copied_bytes", formula.copied_bytes},
          {"copied_ratio", formula.copied_bytes / static_cast<double>(std::max<std::size_t>(formula.bytes, 1))},
          {"reasons", formula.reasons}};
}

Json rates_json(const std::optional<MachineRates>& rates) {
  if (!rates) return {};
  return {{"read_bytes_per_s", rates->read_bytes_per_s},
          {"prompt_flops_per_s", rates->prompt_flops_per_s},
          {"generated_flops_per_s", rates->generated_flops_per_s}};
}

}  // namespace

PlanSubject subject_of(const ModelShape& shape, const std::string& type) {
  const TensorTypes types = TensorTypes::parse(type).value_or_throw();
  std::string note(shape.note);
  if (note.empty() && !shape.is_computed()) note = "Vitrine does not compute models of this kind; the sizes are theirs";
  return {std::string(shape.name), type, std::move(note), network_of(shape, types)};
}

std::vector<PlanRow> plan_rows(const Network& network, const ops::MemoryModel& backend, const PlanQuestion& question) {
  std::vector<PlanRow> rows;
  for (const tensor::DType kv_type : question.kv_types) {
    check_sizes(network, kv_type, question.context_lengths);
    const RunSizes run{
        .kv_type = kv_type, .max_chunk_tokens = question.max_chunk_tokens, .num_threads = question.num_threads};
    const MemoryForecast sizes = MemoryForecast::create(network, backend, run).value_or_throw();
    for (const std::size_t batch : question.batches) {
      for (const std::size_t length : question.context_lengths) {
        PlanRow row;
        row.context_length = length;
        row.batch = batch;
        row.kv_type = kv_type;
        row.memory = sizes.at(length, batch);
        row.fits = row.memory.total() <= question.available_bytes;
        row.max_context = sizes.max_context(question.available_bytes, batch, network.config.context_length);
        row.max_batch = sizes.max_sequences(question.available_bytes, length);
        row.formula = kv_formula(network, kv_type, length, batch).value_or_throw();
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

Json to_json(const PlanRow& row) {
  const Memory& memory = row.memory;
  return {{"context", row.context_length},
          {"batch", row.batch},
          {"kv_type", tensor::dtype_info(row.kv_type).name},
          {"weights_bytes", memory.weights},
          {"kv_bytes", memory.kv},
          {"kv_allocated_bytes", memory.kv_allocated},
          {"activations_bytes", memory.activations},
          {"scratch_bytes", memory.scratch},
          {"other_bytes", memory.other},
          {"total_bytes", memory.total()},
          {"fits", row.fits},
          {"max_context", row.max_context},
          {"max_batch", row.max_batch},
          {"prefill_tokens_per_s", speed_json(row.speed, &Speed::prefill_tokens_per_s)},
          {"decode_tokens_per_s", speed_json(row.speed, &Speed::decode_tokens_per_s)},
          {"kv_formula", formula_json(row.formula)}};
}

Json to_json(const PlanReport& report, Json machine) {
  const Network& network = report.subject.network;
  Json rows = Json::array();
  for (const PlanRow& row : report.rows)
    rows.push_back(to_json(row));
  machine["measured"] = rates_json(report.rates);
  return {{"model",
           {{"name", report.subject.name},
            {"weights", report.subject.weights},
            {"parameters", network.num_parameters()},
            {"context_length", network.config.context_length},
            {"is_computed", network.is_computed},
            {"note", report.subject.note}}},
          {"machine", std::move(machine)},
          {"rows", std::move(rows)}};
}

}  // namespace vitrine::plan
