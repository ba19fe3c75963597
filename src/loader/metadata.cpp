#include "loader/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "loader/byte_reader.h"
#include "loader/errors.h"

namespace vitrine::loader {
namespace {

struct TypeInfo {
  std::string_view name;
  std::size_t bytes;
};

// By id.
constexpr std::array<TypeInfo, 13> kMetadataTypes{{{"uint8", 1},
                                                   {"int8", 1},
                                                   {"uint16", 2},
                                                   {"int16", 2},
                                                   {"uint32", 4},
                                                   {"int32", 4},
                                                   {"float32", 4},
                                                   {"bool", 1},
                                                   {"string", 0},
                                                   {"array", 0},
                                                   {"uint64", 8},
                                                   {"int64", 8},
                                                   {"float64", 8}}};

template <typename T>
T load(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

// Calls visit(T{}) with the C++ type of a number; false for strings, arrays and bool.
template <typename Visitor>
bool visit_number_type(MetadataType type, Visitor&& visit) {
  using enum MetadataType;
  switch (type) {
    case kUint8:
      return visit(std::uint8_t{});
    case kInt8:
      return visit(std::int8_t{});
    case kUint16:
      return visit(std::uint16_t{});
    case kInt16:
      return visit(std::int16_t{});
    case kUint32:
      return visit(std::uint32_t{});
    case kInt32:
      return visit(std::int32_t{});
    case kUint64:
      return visit(std::uint64_t{});
    case kInt64:
      return visit(std::int64_t{});
    case kFloat32:
      return visit(float{});
    case kFloat64:
      return visit(double{});
    case kBool:
    case kString:
    case kArray:
      return false;
  }
  return false;
}

// Decodes `count` integers into T; false when the type is no integer or one does not fit.
template <typename T>
bool decode_integers(MetadataType type, std::span<const std::byte> payload, std::span<T> out) {
  return visit_number_type(type, [&]<typename Stored>(Stored) {
    if constexpr (std::is_floating_point_v<Stored>) {
      return false;
    } else {
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto stored = load<Stored>(payload.data() + i * sizeof(Stored));
        if (!std::in_range<T>(stored)) return false;
        out[i] = static_cast<T>(stored);
      }
      return true;
    }
  });
}

template <typename T>
bool decode_floats(MetadataType type, std::span<const std::byte> payload, std::span<T> out) {
  return visit_number_type(type, [&]<typename Stored>(Stored) {
    if constexpr (std::is_integral_v<Stored>) {
      return false;
    } else {
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = static_cast<T>(load<Stored>(payload.data() + i * sizeof(Stored)));
      }
      return true;
    }
  });
}

base::Error wrong_type(std::string_view key, std::string_view wanted, const MetadataValue& value) {
  std::string type(metadata_type_name(value.type));
  if (value.is_array()) type += fmt::format(" of {}", metadata_type_name(value.element_type));
  return base::bad_file(fmt::format("metadata key {}: must be {}, is {}", in_quotes(key), wanted, type));
}

template <typename T>
base::Error out_of_range(std::string_view key, T value, T min, T max) {
  return base::bad_file(fmt::format("metadata key {}: must be {} to {}, is {}", in_quotes(key), min, max, value));
}

// Applies a MetadataValue::as_... function to the value of `key`.
template <typename T>
Metadata::Lookup<T> look_up(const Metadata& metadata, std::string_view key, std::string_view wanted,
                            std::optional<T> (MetadataValue::*decode)() const) {
  const MetadataValue* value = metadata.find(key);
  if (value == nullptr) return std::optional<T>();
  std::optional<T> decoded = (value->*decode)();
  if (!decoded) return wrong_type(key, wanted, *value);
  return decoded;
}

template <typename T>
Metadata::Lookup<T> check_range(std::string_view key, Metadata::Lookup<T> looked_up, T min, T max) {
  if (!looked_up || !looked_up->has_value()) return looked_up;
  const T value = **looked_up;
  if (!(value >= min && value <= max)) return out_of_range(key, value, min, max);
  return looked_up;
}

}  // namespace

std::string_view metadata_type_name(MetadataType type) {
  return kMetadataTypes[static_cast<std::size_t>(type)].name;
}

std::size_t metadata_type_bytes(MetadataType type) {
  return kMetadataTypes[static_cast<std::size_t>(type)].bytes;
}

std::optional<std::uint64_t> MetadataValue::as_uint() const {
  std::uint64_t value = 0;
  if (!decode_integers<std::uint64_t>(type, payload, {&value, 1})) return std::nullopt;
  return value;
}

std::optional<std::int64_t> MetadataValue::as_int() const {
  std::int64_t value = 0;
  if (!decode_integers<std::int64_t>(type, payload, {&value, 1})) return std::nullopt;
  return value;
}

std::optional<double> MetadataValue::as_float() const {
  double value = 0;
  if (!decode_floats<double>(type, payload, {&value, 1})) return std::nullopt;
  return value;
}

std::optional<bool> MetadataValue::as_bool() const {
  if (type != MetadataType::kBool) return std::nullopt;
  const auto stored = load<std::uint8_t>(payload.data());
  if (stored > 1) return std::nullopt;
  return stored == 1;
}

std::optional<std::string_view> MetadataValue::as_string() const {
  if (type != MetadataType::kString) return std::nullopt;
  return as_text(payload);
}

std::optional<std::vector<std::string_view>> MetadataValue::as_strings() const {
  if (!is_array() || element_type != MetadataType::kString) return std::nullopt;
  std::vector<std::string_view> strings;
  strings.reserve(count);
  ByteReader reader(payload);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto size = reader.read<std::uint64_t>();
    const auto text = size ? reader.take(*size) : std::nullopt;
    VT_CHECK(text.has_value(), "the lengths in a string array were checked when the file was parsed");
    strings.push_back(as_text(*text));
  }
  return strings;
}

std::optional<std::vector<std::int64_t>> MetadataValue::as_ints() const {
  if (!is_array()) return std::nullopt;
  const MetadataType stored = element_type == MetadataType::kBool ? MetadataType::kUint8 : element_type;
  if (metadata_type_bytes(stored) == 0) return std::nullopt;
  std::vector<std::int64_t> values(count);
  if (!decode_integers<std::int64_t>(stored, payload, values)) return std::nullopt;
  return values;
}

std::optional<std::vector<float>> MetadataValue::as_floats() const {
  if (!is_array() || metadata_type_bytes(element_type) == 0) return std::nullopt;
  std::vector<float> values(count);
  if (!decode_floats<float>(element_type, payload, values)) return std::nullopt;
  return values;
}

base::Result<Metadata> Metadata::create(std::vector<MetadataEntry> entries) {
  std::vector<std::string_view> keys;
  keys.reserve(entries.size());
  for (const MetadataEntry& entry : entries)
    keys.push_back(entry.key);
  Metadata metadata;
  metadata.entries_ = std::move(entries);
  metadata.index_ = NameIndex(keys);
  if (const auto key = metadata.index_.duplicate()) {
    return base::bad_file("metadata key " + in_quotes(*key) + " occurs more than once");
  }
  return metadata;
}

const MetadataValue* Metadata::find(std::string_view key) const {
  const auto entry_idx = index_.find(key);
  return entry_idx ? &entries_[*entry_idx].value : nullptr;
}

Metadata::Lookup<std::uint64_t> Metadata::uint_value(std::string_view key, std::uint64_t min, std::uint64_t max) const {
  return check_range(key, look_up(*this, key, "an integer that is not negative", &MetadataValue::as_uint), min, max);
}

Metadata::Lookup<std::int64_t> Metadata::int_value(std::string_view key, std::int64_t min, std::int64_t max) const {
  return check_range(key, look_up(*this, key, "an integer", &MetadataValue::as_int), min, max);
}

Metadata::Lookup<double> Metadata::float_value(std::string_view key, double min, double max) const {
  return check_range(key, look_up(*this, key, "a float", &MetadataValue::as_float), min, max);
}

Metadata::Lookup<bool> Metadata::bool_value(std::string_view key) const {
  return look_up(*this, key, "a bool of 0 or 1", &MetadataValue::as_bool);
}

Metadata::Lookup<std::string_view> Metadata::string_value(std::string_view key) const {
  return look_up(*this, key, "a string", &MetadataValue::as_string);
}

Metadata::Lookup<std::vector<std::string_view>> Metadata::string_array(std::string_view key) const {
  return look_up(*this, key, "an array of strings", &MetadataValue::as_strings);
}

Metadata::Lookup<std::vector<std::int64_t>> Metadata::int_array(std::string_view key, std::int64_t min,
                                                                std::int64_t max) const {
  auto looked_up = look_up(*this, key, "an array of integers of at most 63 bits", &MetadataValue::as_ints);
  if (!looked_up || !looked_up->has_value()) return looked_up;
  for (const std::int64_t value : **looked_up) {
    if (value < min || value > max) return out_of_range(key, value, min, max);
  }
  return looked_up;
}

Metadata::Lookup<std::vector<float>> Metadata::float_array(std::string_view key) const {
  return look_up(*this, key, "an array of floats", &MetadataValue::as_floats);
}

}  // namespace vitrine::loader
