// Any bytes as a safetensors file: either an error, or tensors that lie inside the bytes and do not overlap.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "loader/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    auto header = vitrine::loader::parse_safetensors(file);
    std::size_t covered = 0;
    for (const auto& tensor : header.tensors) {
      const auto bytes = tensor.view.bytes();
      VT_CHECK(bytes.data() >= file.data() && bytes.data() + bytes.size() <= file.data() + file.size(),
               "a tensor outside the file");
      covered += bytes.size();
    }
    VT_CHECK(covered <= file.size(), "tensors that share bytes");
    VT_CHECK(vitrine::loader::WeightSource::create({}, std::move(header.tensors)).has_value(),
             "a name that occurs twice");
  } catch (const vitrine::base::Exception&) {
  }
  return 0;
}
