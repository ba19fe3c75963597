#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

namespace vitrine::tokenizer {

// A field of a protobuf message as it stands in the file. `value` is that of a varint or a fixed number, `bytes` the
// content of a text or an inner message, a view into the file.
struct ProtobufField {
  enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  std::uint32_t number = 0;
  Wire wire = Wire::kVarint;
  std::uint64_t value = 0;
  std::string_view bytes;

  bool as_bool() const { return value != 0; }
  float as_float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(value)); }
};

// Reads the fields of one message in their order (protobuf's "Encoding" page). Never passes the end of the message;
// inner messages are read by a reader of their own.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : rest_(message) {}

  bool at_end() const { return rest_.empty(); }
  // nullopt where the message is cut off or broken; nothing behind that can be read.
  std::optional<ProtobufField> next();

 private:
  std::optional<std::uint64_t> varint();
  std::optional<std::uint64_t> fixed(std::size_t num_bytes);
  std::optional<std::string_view> take(std::uint64_t num_bytes);

  std::string_view rest_;
};

}  // namespace vitrine::tokenizer
