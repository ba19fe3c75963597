// Any bytes are valid blocks of any format: the first byte of the input selects the format, the rest are its blocks.
// They are decoded, multiplied with themselves taken as activations, and their values quantised again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "quant/quant_format.h"

namespace {

using vitrine::quant::QuantFormat;

constexpr std::size_t kMaxBlocks = 8;

void dot_with_any_activations(const QuantFormat& format, const std::vector<std::byte>& blocks, std::size_t elements) {
  std::vector<std::byte> activations(*vitrine::tensor::dtype_bytes(format.dot_activation, elements));
  for (std::size_t i = 0; i < activations.size(); ++i)
    activations[i] = blocks[i % blocks.size()];
  format.dot(blocks.data(), activations.data(), elements);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto formats = vitrine::quant::quant_formats();
  const QuantFormat& format = formats[data[0] % formats.size()];
  const vitrine::tensor::DTypeInfo& info = vitrine::tensor::dtype_info(format.type);
  const std::size_t num_blocks = std::min((size - 1) / info.block_bytes, kMaxBlocks);
  if (num_blocks == 0) return 0;

  const auto* bytes = reinterpret_cast<const std::byte*>(data + 1);
  const std::vector<std::byte> blocks(bytes, bytes + num_blocks * info.block_bytes);
  std::vector<float> values(num_blocks * info.block_elements);
  format.decode(blocks.data(), values.data(), values.size());
  if (format.dot != nullptr) dot_with_any_activations(format, blocks, values.size());
  if (format.encode != nullptr) {
    std::vector<std::byte> again(info.block_bytes);
    format.encode(values.data(), again.data(), info.block_elements);
  }
  return 0;
}
