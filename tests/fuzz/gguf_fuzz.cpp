// Any bytes as a GGUF file: either an error, or tensors that lie inside the bytes and keys that can all be decoded.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/check.h"
#include "loader/gguf.h"

namespace {

using vitrine::loader::GgufHeader;
using vitrine::loader::Metadata;

void check_tensors(const GgufHeader& header, std::span<const std::byte> file) {
  for (const auto& tensor : header.tensors) {
    const auto bytes = tensor.view.bytes();
    VT_CHECK(bytes.data() >= file.data() && bytes.data() + bytes.size() <= file.data() + file.size(),
             "a tensor outside the file");
  }
}

void decode_values(const Metadata& metadata) {
  for (const auto& entry : metadata.entries()) {
    VT_CHECK(metadata.find(entry.key) == &entry.value, "a key that is not found");
    static_cast<void>(metadata.uint_value(entry.key, 1, 1000));
    static_cast<void>(metadata.float_value(entry.key, -1, 1));
    static_cast<void>(entry.value.as_string());
    static_cast<void>(entry.value.as_bool());
    static_cast<void>(entry.value.as_strings());
    static_cast<void>(entry.value.as_ints());
    static_cast<void>(entry.value.as_floats());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    GgufHeader header = vitrine::loader::parse_gguf(file);
    check_tensors(header, file);
    decode_values(header.metadata);
    static_cast<void>(vitrine::loader::WeightSource::create({}, std::move(header.tensors)));
  } catch (const vitrine::base::Exception&) {
  }
  return 0;
}
