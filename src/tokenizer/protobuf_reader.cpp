#include "tokenizer/protobuf_reader.h"

#include <limits>

namespace vitrine::tokenizer {

std::optional<ProtobufField> ProtobufReader::next() {
  const auto tag = varint();
  if (!tag || *tag > std::numeric_limits<std::uint32_t>::max() || *tag >> 3 == 0) return std::nullopt;
  ProtobufField field{.number = static_cast<std::uint32_t>(*tag >> 3),
                      .wire = static_cast<ProtobufField::Wire>(*tag & 7),
                      .value = 0,
                      .bytes = {}};
  std::optional<std::uint64_t> value;
  switch (field.wire) {
    case ProtobufField::Wire::kFixed64:
      value = fixed(8);
      break;
    case ProtobufField::Wire::kFixed32:
      value = fixed(4);
      break;
    default:
      value = varint();
      break;
  }
  const bool is_known = (*tag & 7) <= 2 || (*tag & 7) == 5;
  if (!value || !is_known) return std::nullopt;
  field.value = *value;
  if (field.wire != ProtobufField::Wire::kBytes) return field;
  const auto bytes = take(field.value);
  if (!bytes) return std::nullopt;
  field.bytes = *bytes;
  return field;
}

std::optional<std::uint64_t> ProtobufReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ProtobufReader::fixed(std::size_t num_bytes) {
  const auto bytes = take(num_bytes);
  if (!bytes) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = num_bytes; i > 0; --i)
    value = (value << 8) | static_cast<unsigned char>((*bytes)[i - 1]);
  return value;
}

std::optional<std::string_view> ProtobufReader::take(std::uint64_t num_bytes) {
  if (num_bytes > rest_.size()) return std::nullopt;
  const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(num_bytes));
  rest_.remove_prefix(taken.size());
  return taken;
}

}  // namespace vitrine::tokenizer
