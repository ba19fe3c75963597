#include "plan/formula.h"

#include <algorithm>

#include <fmt/format.h>

namespace vitrine::plan {
namespace {

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
}

// "2 bytes", or "34 bytes for 32 values".
std::string bytes_of_value(const tensor::DTypeInfo& info) {
  if (info.block_elements == 1) return counted(info.block_bytes, "byte");
  return fmt::format("{} / {} bytes", info.block_bytes, info.block_elements);
}

std::string row_text(const KvLayout& kv, const tensor::DTypeInfo& info) {
  if (kv.value_dim == 0) return fmt::format("{} numbers of the latent vector x {}", kv.key_dim, bytes_of_value(info));
  return fmt::format("{} x ({} + {}) x {}", counted(kv.num_kv_heads, "KV head"), kv.key_dim, kv.value_dim,
                     bytes_of_value(info));
}

// The sum over layers of the tokens that each keeps.
std::string tokens_text(const KvLayout& kv, std::size_t context_length) {
  const std::size_t num_full = kv.num_layers - kv.num_window_layers;
  if (kv.num_window_layers == 0) {
    return fmt::format("{} x {}", counted(context_length, "token"), counted(num_full, "layer"));
  }
  return fmt::format("({} x {} + {} x min({}, {}))", counted(num_full, "layer"), counted(context_length, "token"),
                     counted(kv.num_window_layers, "windowed layer"), grouped(context_length), grouped(kv.window));
}

void add_head_reasons(const Network& network, std::vector<std::string>& reasons) {
  const models::ModelConfig& config = network.config;
  const KvLayout& kv = network.kv;
  if (kv.value_dim == 0) {
    reasons.push_back(fmt::format(
        "its {} heads make their keys and values from one latent vector of {} numbers (multi-head latent attention)",
        config.num_heads, kv.key_dim));
    return;
  }
  if (kv.num_kv_heads == 1 && config.num_heads > 1) {
    reasons.push_back(fmt::format("all {} query heads share one KV head (multi-query attention)", config.num_heads));
  } else if (kv.num_kv_heads < config.num_heads) {
    reasons.push_back(fmt::format("{} query heads share each of the {} KV heads (grouped-query attention)",
                                  config.num_heads / kv.num_kv_heads, kv.num_kv_heads));
  }
  if (config.num_heads * kv.key_dim != config.hidden_size) {
    reasons.push_back(fmt::format("its {} query heads are {} wide, which is not hidden / heads of {} / {}",
                                  config.num_heads, kv.key_dim, config.hidden_size, config.num_heads));
  }
  if (kv.key_dim != kv.value_dim)
    reasons.push_back(fmt::format("a key has {} numbers and a value {}", kv.key_dim, kv.value_dim));
}

std::vector<std::string> reasons_of(const Network& network, const tensor::DTypeInfo& info, std::size_t context_length) {
  const KvLayout& kv = network.kv;
  std::vector<std::string> reasons;
  add_head_reasons(network, reasons);
  if (kv.num_window_layers > 0 && context_length > kv.window) {
    reasons.push_back(fmt::format("{} of {} layers see no more than {} tokens (sliding window)", kv.num_window_layers,
                                  kv.num_layers, grouped(kv.window)));
  }
  if (info.block_bytes != 2 * info.block_elements)
    reasons.push_back(fmt::format("{} takes {} a value, not 2", info.name, bytes_of_value(info)));
  return reasons;
}

}  // namespace

std::string grouped(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3; i -= 3)
    digits.insert(i - 3, 1, ',');
  return digits;
}

base::Result<KvFormula> kv_formula(const Network& network, tensor::DType type, std::size_t context_length,
                                   std::size_t batch) {
  const auto row_bytes = kv_row_bytes(network.kv, type);
  if (!row_bytes) return row_bytes.error();
  const tensor::DTypeInfo& info = tensor::dtype_info(type);
  const std::size_t hidden_size = network.config.hidden_size;
  KvFormula formula;
  formula.formula = fmt::format("{} x {} x {}", counted(batch, "sequence"), tokens_text(network.kv, context_length),
                                row_text(network.kv, info));
  formula.bytes = batch * kv_bytes(network.kv, *row_bytes, context_length);
  formula.copied = fmt::format("{} x {} x 2 x {} x {} x 2 bytes", batch, grouped(context_length), network.kv.num_layers,
                               grouped(hidden_size));
  formula.copied_bytes = 4.0 * static_cast<double>(batch) * static_cast<double>(context_length) *
                         static_cast<double>(network.kv.num_layers) * static_cast<double>(hidden_size);
  formula.reasons = reasons_of(network, info, context_length);
  return formula;
}

}  // namespace vitrine::plan
