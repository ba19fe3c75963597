#include <fmt/format.h>
#include "base/utf8.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "base/checked.h"
#include "loader/byte_reader.h"
#include "loader/errors.h"
#include "loader/gguf.h"

namespace vitrine::loader {
namespace {

using tensor::DTypeInfo;
using tensor::Shape;

constexpr std::uint32_t kMinVersion = 2;
constexpr std::uint32_t kMaxVersion = 3;
constexpr std::size_t kMaxKeyBytes = 65535;
constexpr std::size_t kMaxArrayDepth = 64;
constexpr std::uint64_t kDefaultAlignment = 32;
// Far above any model (some thousand tensors, some hundred keys): they bound the time that a header can cost.
constexpr std::uint64_t kMaxTensors = 250'000;
constexpr std::uint64_t kMaxEntries = 100'000;

// The least bytes that one item takes in the file: what a count is checked against before anything is reserved.
constexpr std::uint64_t kMinEntryBytes = 8 + 1 + 4 + 1;           // key length, key, type, value
constexpr std::uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;  // name length, name, num dims, dim, type, offset
constexpr std::uint64_t kMinStringBytes = 8;                      // length
constexpr std::uint64_t kMinArrayBytes = 4 + 8;                   // element type, count

// A tensor's line in the header; the offset counts from the start of the data section.
struct TensorInfo {
  std::string_view name;
  const DTypeInfo* type = nullptr;
  Shape shape;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

class HeaderParser {
 public:
  explicit HeaderParser(std::span<const std::byte> file) : file_(file), reader_(file) {}
  GgufHeader parse();

 private:
  template <typename T>
  T read(std::string_view what) {
    const auto value = reader_.read<T>();
    if (!value) fail_truncated(what);
    return *value;
  }
  std::span<const std::byte> take(std::uint64_t num_bytes, std::string_view what) {
    const auto bytes = reader_.take(num_bytes);
    if (!bytes) fail_truncated(what);
    return *bytes;
  }
  [[noreturn]] void fail_truncated(std::string_view what) const {
    fail(fmt::format("GGUF header is cut short: {} at byte {} does not fit in the file of {} bytes", what,
                     reader_.position(), file_.size()));
  }
  void check_count(std::uint64_t count, std::uint64_t min_item_bytes, std::string_view what) const;

  std::uint32_t read_version();
  std::string_view read_name(std::string_view what);
  MetadataEntry read_entry();
  MetadataType read_type(std::string_view key);
  MetadataValue read_value(MetadataType type, std::string_view key, std::size_t depth);
  MetadataValue read_array(std::string_view key, std::size_t depth);
  void skip_elements(const MetadataValue& array, std::string_view key, std::size_t depth);
  TensorInfo read_tensor_info();
  Shape read_shape(std::string_view name);
  std::vector<NamedTensor> place_tensors(const std::vector<TensorInfo>& infos, std::uint64_t alignment) const;

  std::span<const std::byte> file_;
  ByteReader reader_;
};

// By division, so that no count can wrap.
void HeaderParser::check_count(std::uint64_t count, std::uint64_t min_item_bytes, std::string_view what) const {
  if (count <= reader_.remaining() / min_item_bytes) return;
  fail(fmt::format("GGUF header claims {} {}, more than its {} remaining bytes can hold", count, what,
                   reader_.remaining()));
}

std::uint32_t HeaderParser::read_version() {
  if (as_text(take(4, "the magic")) != "GGUF") fail("not a GGUF file: it does not begin with \"GGUF\"");
  const auto version = read<std::uint32_t>("the version");
  if (version >= kMinVersion && version <= kMaxVersion) return version;
  const std::uint32_t swapped = __builtin_bswap32(version);
  if (swapped >= 1 && swapped <= kMaxVersion) {
    fail(fmt::format("GGUF version {} in big-endian byte order; only little-endian files are read", swapped));
  }
  if (version == 1) fail("GGUF version 1 (32-bit counts) is not supported; convert the file to version 3");
  fail(fmt::format("GGUF version {} is not supported; versions 2 and 3 are", version));
}

// A key or a tensor's name. They end up in messages and JSON, so they must be clean text.
std::string_view HeaderParser::read_name(std::string_view what) {
  const auto size = read<std::uint64_t>(what);
  const std::string_view name = as_text(take(size, what));
  if (name.empty()) fail(fmt::format("GGUF header: {} is empty", what));
  if (name.size() > kMaxKeyBytes) fail(fmt::format("GGUF header: {} {} is too long", what, in_quotes(name)));
  if (name.find('\0') != name.npos) fail(fmt::format("GGUF header: {} {} contains a NUL byte", what, in_quotes(name)));
  if (!base::is_valid_utf8(name)) fail(fmt::format("GGUF header: {} {} is not UTF-8", what, in_quotes(name)));
  return name;
}

MetadataType HeaderParser::read_type(std::string_view key) {
  const auto id = read<std::uint32_t>("a value type");
  if (id > static_cast<std::uint32_t>(MetadataType::kFloat64)) {
    fail(fmt::format("metadata key {}: unknown value type {}", in_quotes(key), id));
  }
  return static_cast<MetadataType>(id);
}

MetadataEntry HeaderParser::read_entry() {
  const std::string_view key = read_name("metadata key");
  const MetadataType type = read_type(key);
  return {key, read_value(type, key, 0)};
}

MetadataValue HeaderParser::read_value(MetadataType type, std::string_view key, std::size_t depth) {
  if (type == MetadataType::kArray) return read_array(key, depth);
  MetadataValue value;
  value.type = type;
  const std::uint64_t size =
      type == MetadataType::kString ? read<std::uint64_t>("a string length") : metadata_type_bytes(type);
  value.payload = take(size, "a metadata value");
  return value;
}

MetadataValue HeaderParser::read_array(std::string_view key, std::size_t depth) {
  if (depth == kMaxArrayDepth) {
    fail(fmt::format("metadata key {}: arrays nested more than {} deep", in_quotes(key), kMaxArrayDepth));
  }
  MetadataValue array;
  array.type = MetadataType::kArray;
  array.element_type = read_type(key);
  array.count = read<std::uint64_t>("an array count");
  const std::size_t begin = reader_.position();
  skip_elements(array, key, depth);
  array.payload = file_.subspan(begin, reader_.position() - begin);
  return array;
}

void HeaderParser::skip_elements(const MetadataValue& array, std::string_view key, std::size_t depth) {
  const std::size_t fixed_bytes = metadata_type_bytes(array.element_type);
  const bool is_string = array.element_type == MetadataType::kString;
  const std::uint64_t min_bytes = fixed_bytes != 0 ? fixed_bytes : is_string ? kMinStringBytes : kMinArrayBytes;
  check_count(array.count, min_bytes, "array elements");
  if (fixed_bytes != 0) {
    take(array.count * fixed_bytes, "an array");
    return;
  }
  for (std::uint64_t i = 0; i < array.count; ++i) {
    if (is_string) {
      take(read<std::uint64_t>("a string length"), "a string");
    } else {
      read_array(key, depth + 1);
    }
  }
}

// The file lists dimensions innermost first.
Shape HeaderParser::read_shape(std::string_view name) {
  const auto rank = read<std::uint32_t>("a number of dimensions");
  if (rank < 1 || rank > Shape::kMaxRank) {
    fail(fmt::format("tensor {}: {} dimensions; 1 to {} are allowed", in_quotes(name), rank, Shape::kMaxRank));
  }
  std::array<std::size_t, Shape::kMaxRank> dims{};
  for (std::uint32_t axis = 0; axis < rank; ++axis) {
    dims[rank - 1 - axis] = read<std::uint64_t>("a dimension");
    if (dims[rank - 1 - axis] == 0) fail(fmt::format("tensor {}: dimension {} is 0", in_quotes(name), axis));
  }
  return Shape(std::span<const std::size_t>(dims.data(), rank));
}

TensorInfo HeaderParser::read_tensor_info() {
  TensorInfo info;
  info.name = read_name("tensor name");
  info.shape = read_shape(info.name);
  const auto type_id = read<std::uint32_t>("a tensor type");
  info.type = tensor::find_dtype(type_id);
  if (info.type == nullptr) fail(fmt::format("tensor {}: unknown tensor type {}", in_quotes(info.name), type_id));
  info.offset = read<std::uint64_t>("a tensor offset");
  if (info.shape.row_elements() % info.type->block_elements != 0) {
    fail(fmt::format("tensor {}: rows of {} elements do not fill whole {} blocks of {}", in_quotes(info.name),
                     info.shape.row_elements(), info.type->name, info.type->block_elements));
  }
  const auto num_elements = info.shape.checked_num_elements();
  const auto size_bytes = num_elements ? tensor::dtype_bytes(info.type->type, *num_elements) : std::nullopt;
  if (!size_bytes) fail(fmt::format("tensor {}: shape {} overflows", in_quotes(info.name), info.shape.to_string()));
  info.size_bytes = *size_bytes;
  return info;
}

void check_no_overlap(const std::vector<TensorInfo>& infos) {
  std::vector<const TensorInfo*> order;
  order.reserve(infos.size());
  for (const TensorInfo& info : infos)
    order.push_back(&info);
  std::ranges::sort(order, {}, &TensorInfo::offset);
  const auto overlap = std::ranges::adjacent_find(
      order, [](const TensorInfo* a, const TensorInfo* b) { return b->offset - a->offset < a->size_bytes; });
  if (overlap == order.end()) return;
  fail(fmt::format("tensors {} and {} overlap in the file", in_quotes((*overlap)->name),
                   in_quotes((*(overlap + 1))->name)));
}

std::vector<NamedTensor> HeaderParser::place_tensors(const std::vector<TensorInfo>& infos,
                                                     std::uint64_t alignment) const {
  if (infos.empty()) return {};
  const auto data_begin = base::checked_align_up<std::uint64_t>(reader_.position(), alignment);
  if (!data_begin || *data_begin > file_.size()) fail("the file ends before its tensor data begins");
  const std::uint64_t data_bytes = file_.size() - *data_begin;
  std::vector<NamedTensor> tensors;
  tensors.reserve(infos.size());
  for (const TensorInfo& info : infos) {
    if (info.offset % alignment != 0) {
      fail(fmt::format("tensor {}: offset {} is no multiple of the alignment {}", in_quotes(info.name), info.offset,
                       alignment));
    }
    const auto end = base::checked_add(info.offset, info.size_bytes);
    if (!end || *end > data_bytes) {
      fail(fmt::format("tensor {}: {} bytes at offset {} pass the end of the file ({} bytes of data): it is cut short",
                       in_quotes(info.name), info.size_bytes, info.offset, data_bytes));
    }
    tensors.push_back(
        {std::string(info.name), {info.type->type, info.shape, file_.data() + *data_begin + info.offset}});
  }
  check_no_overlap(infos);
  return tensors;
}

std::uint64_t read_alignment(const Metadata& metadata) {
  const MetadataValue* value = metadata.find("general.alignment");
  if (value == nullptr) return kDefaultAlignment;
  if (value->type != MetadataType::kUint32) {
    fail(fmt::format("metadata key \"general.alignment\": must be uint32, is {}", metadata_type_name(value->type)));
  }
  const std::uint64_t alignment = value->as_uint().value_or(0);
  if (!std::has_single_bit(alignment)) {
    fail(fmt::format("metadata key \"general.alignment\": {} is not a power of two", alignment));
  }
  return alignment;
}

GgufHeader HeaderParser::parse() {
  GgufHeader header;
  header.version = read_version();
  const auto num_tensors = read<std::uint64_t>("the tensor count");
  const auto num_entries = read<std::uint64_t>("the metadata count");
  check_count(num_tensors, kMinTensorBytes, "tensors");
  check_count(num_entries, kMinEntryBytes, "metadata entries");
  if (num_tensors > kMaxTensors) fail(fmt::format("{} tensors; at most {} are read", num_tensors, kMaxTensors));
  if (num_entries > kMaxEntries) fail(fmt::format("{} metadata keys; at most {} are read", num_entries, kMaxEntries));
  std::vector<MetadataEntry> entries;
  for (std::uint64_t i = 0; i < num_entries; ++i)
    entries.push_back(read_entry());
  header.metadata = Metadata::create(std::move(entries)).value_or_throw();
  std::vector<TensorInfo> infos;
  for (std::uint64_t i = 0; i < num_tensors; ++i)
    infos.push_back(read_tensor_info());
  header.tensors = place_tensors(infos, read_alignment(header.metadata));
  return header;
}

}  // namespace

GgufHeader parse_gguf(std::span<const std::byte> file) {
  return HeaderParser(file).parse();
}

}  // namespace vitrine::loader
