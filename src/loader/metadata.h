#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "loader/name_index.h"

namespace vitrine::loader {

// Value types of GGUF, with the ids of the format document.
enum class MetadataType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

std::string_view metadata_type_name(MetadataType type);  // "uint8", ..., "array"
// Bytes of a value of this type; 0 for strings and arrays, whose size varies.
std::size_t metadata_type_bytes(MetadataType type);

// One value as it lies in the mapped file: its payload is known to be whole, its numbers are decoded when asked for.
// The as_... functions answer nullopt when the value has another type, or does not fit the type that they return.
struct MetadataValue {
  MetadataType type = MetadataType::kUint8;
  MetadataType element_type = MetadataType::kUint8;  // arrays only
  std::uint64_t count = 0;                           // elements; arrays only
  std::span<const std::byte> payload;                // the number, the characters, or the elements one after another

  bool is_array() const { return type == MetadataType::kArray; }

  std::optional<std::uint64_t> as_uint() const;  // any integer type, not negative
  std::optional<std::int64_t> as_int() const;    // any integer type
  std::optional<double> as_float() const;        // float32 or float64
  std::optional<bool> as_bool() const;           // 0 or 1
  std::optional<std::string_view> as_string() const;

  std::optional<std::vector<std::string_view>> as_strings() const;
  std::optional<std::vector<std::int64_t>> as_ints() const;  // elements of any integer type, or bool
  std::optional<std::vector<float>> as_floats() const;       // elements float32 or float64
};

struct MetadataEntry {
  std::string_view key;
  MetadataValue value;
};

// The key-values of a GGUF file, in file order. Keys and values are views into the mapping that the model's
// WeightSource owns, which must outlive this. Keys are unique, not empty, UTF-8, without NUL; string values are bytes.
//
// The typed getters give nullopt for an absent key and kBadFile, naming the key, for a wrong type or a value outside
// [min, max] (which a NaN always is).
class Metadata {
 public:
  template <typename T>
  using Lookup = base::Result<std::optional<T>>;

  Metadata() = default;
  // kBadFile when two entries have one key.
  static base::Result<Metadata> create(std::vector<MetadataEntry> entries);

  std::span<const MetadataEntry> entries() const { return entries_; }
  const MetadataValue* find(std::string_view key) const;  // nullptr when there is none

  Lookup<std::uint64_t> uint_value(std::string_view key, std::uint64_t min, std::uint64_t max) const;
  Lookup<std::int64_t> int_value(std::string_view key, std::int64_t min, std::int64_t max) const;
  Lookup<double> float_value(std::string_view key, double min, double max) const;
  Lookup<bool> bool_value(std::string_view key) const;
  Lookup<std::string_view> string_value(std::string_view key) const;
  Lookup<std::vector<std::string_view>> string_array(std::string_view key) const;
  Lookup<std::vector<std::int64_t>> int_array(std::string_view key, std::int64_t min, std::int64_t max) const;
  Lookup<std::vector<float>> float_array(std::string_view key) const;

 private:
  std::vector<MetadataEntry> entries_;
  NameIndex index_;
};

}  // namespace vitrine::loader
