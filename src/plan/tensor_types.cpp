#include "plan/tensor_types.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "quant/quant_format.h"

namespace vitrine::plan {
namespace {

using tensor::DType;

struct Mix {
  std::string_view name;
  DType base;
  char letter;
};
constexpr std::array kMixes = {Mix{"q4_k_s", DType::kQ4_K, 's'}, Mix{"q4_k_m", DType::kQ4_K, 'm'},
                               Mix{"q5_k_s", DType::kQ5_K, 's'}, Mix{"q5_k_m", DType::kQ5_K, 'm'}};

// Weights of a model; not integers, not the types of activations, not doubles.
bool is_weight_type(DType type) {
  const quant::QuantFormat* format = quant::find_quant_format(type);
  const bool is_activation = type == DType::kQ8_1 || type == DType::kQ8_K;
  return format != nullptr && format->encode != nullptr && type != DType::kF64 && !is_activation;
}

std::string known_types() {
  std::string names;
  for (const Mix& mix : kMixes)
    names += std::string(mix.name) + ", ";
  for (const quant::QuantFormat& format : quant::quant_formats()) {
    if (is_weight_type(format.type)) names += std::string(tensor::dtype_info(format.type).name) + ", ";
  }
  names.resize(names.size() - 2);
  return names;
}

// The first and the last eighth of the layers, and each third between them.
bool gets_more_bits(std::size_t layer_idx, std::size_t num_layers) {
  const std::size_t eighth = num_layers / 8;
  return layer_idx < eighth || layer_idx >= 7 * num_layers / 8 || (layer_idx - eighth) % 3 == 2;
}

DType with_small_blocks(DType type) {
  switch (type) {
    case DType::kQ4_K:
      return DType::kQ5_0;
    case DType::kQ5_K:
      return DType::kQ5_1;
    case DType::kQ6_K:
      return DType::kQ8_0;
    case DType::kQ2_K:
    case DType::kQ3_K:
    case DType::kIQ4_XS:
      return DType::kIQ4_NL;
    default:
      return DType::kF16;
  }
}

}  // namespace

base::Result<TensorTypes> TensorTypes::parse(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* mix = std::ranges::find(kMixes, lower, &Mix::name);
  if (mix != kMixes.end()) return TensorTypes(mix->base, mix->letter);
  const tensor::DTypeInfo* info = tensor::find_dtype(lower);
  if (info != nullptr && is_weight_type(info->type)) return TensorTypes(info->type, 0);
  return base::usage_error(fmt::format("--type {}: not one of {}", name, known_types()));
}

DType TensorTypes::wanted(const Place& place) const {
  if (mix_ == 0) return base_;
  if (place.is_head) return DType::kQ6_K;
  const bool is_down = place.part.starts_with("ffn_down");
  // Eight experts make the attention a small share of the model, so it costs little to keep it finer.
  if (place.num_experts == 8 && (place.part == "attn_k" || place.part == "attn_v")) return DType::kQ8_0;
  if (place.num_experts == 8 && place.part == "attn_output" && base_ == DType::kQ4_K) return DType::kQ5_K;
  if (mix_ == 'm') {
    const bool is_fine = (is_down || place.part == "attn_v") && gets_more_bits(place.layer_idx, place.num_layers);
    return is_fine ? DType::kQ6_K : base_;
  }
  if (base_ != DType::kQ4_K) return base_;
  const bool is_early = is_down ? place.layer_idx < place.num_layers / 8 : place.layer_idx < 4;
  return is_early && (is_down || place.part == "attn_v") ? DType::kQ5_K : base_;
}

DType TensorTypes::of(const Place& place) const {
  const DType type = wanted(place);
  if (tensor::dtype_bytes(type, place.num_columns)) return type;
  const DType small = with_small_blocks(type);
  return tensor::dtype_bytes(small, place.num_columns) ? small : DType::kF16;
}

}  // namespace vitrine::plan
