#include "loader/safetensors.h"

#include <fmt/format.h>
#include "base/utf8.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/checked.h"
#include "loader/byte_reader.h"
#include "loader/errors.h"
#include "loader/json_scanner.h"

namespace vitrine::loader {
namespace {

using tensor::DType;
using tensor::Shape;

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kMaxHeaderTensors =
    250'000;  // above any model; bounds the time and memory that a header can cost
constexpr std::string_view kFileMetadataKey = "__metadata__";

struct StoredType {
  std::string_view name;
  DType type;
  bool is_weight = true;
};

constexpr auto kStoredTypes = std::to_array<StoredType>({{"F32", DType::kF32},
                                                         {"F16", DType::kF16},
                                                         {"BF16", DType::kBF16},
                                                         {"F64", DType::kF64},
                                                         {"I8", DType::kI8},
                                                         {"I16", DType::kI16},
                                                         {"I32", DType::kI32},
                                                         {"I64", DType::kI64},
                                                         {"U8", DType::kI8},
                                                         {"BOOL", DType::kI8, false}});

struct Entry {
  std::string name;
  const StoredType* type = nullptr;
  std::optional<Shape> shape;
  std::optional<std::array<std::uint64_t, 2>> range;  // [begin, end) in the data section
};

// Calls read_item() for each item of a list; the opening bracket has been read.
template <typename ReadItem>
void read_list(JsonScanner& scanner, char closing, ReadItem&& read_item) {
  if (scanner.accept(closing)) return;
  do {
    read_item();
  } while (scanner.accept(','));
  scanner.expect(closing);
}

void skip_file_metadata(JsonScanner& scanner) {
  scanner.expect('{');
  read_list(scanner, '}', [&] {
    scanner.read_string();
    scanner.expect(':');
    scanner.read_string();
  });
}

const StoredType* read_type(JsonScanner& scanner, const std::string& name) {
  const std::string type_name = scanner.read_string();
  const auto* found = std::ranges::find(kStoredTypes, type_name, &StoredType::name);
  if (found == kStoredTypes.end()) {
    fail(fmt::format("tensor {}: dtype {} is not supported", in_quotes(name), in_quotes(type_name)));
  }
  return found;
}

Shape read_shape(JsonScanner& scanner, const std::string& name) {
  std::array<std::size_t, Shape::kMaxRank> dims{};
  std::size_t rank = 0;
  scanner.expect('[');
  read_list(scanner, ']', [&] {
    if (rank == dims.size()) fail(fmt::format("tensor {}: more than {} dimensions", in_quotes(name), dims.size()));
    dims[rank++] = scanner.read_unsigned();
  });
  return Shape(std::span<const std::size_t>(dims.data(), rank));
}

std::array<std::uint64_t, 2> read_range(JsonScanner& scanner) {
  scanner.expect('[');
  const std::uint64_t begin = scanner.read_unsigned();
  scanner.expect(',');
  const std::uint64_t end = scanner.read_unsigned();
  scanner.expect(']');
  return {begin, end};
}

void read_field(JsonScanner& scanner, Entry& entry) {
  const std::string field = scanner.read_string();
  scanner.expect(':');
  if (field == "dtype" && entry.type == nullptr) {
    entry.type = read_type(scanner, entry.name);
  } else if (field == "shape" && !entry.shape) {
    entry.shape = read_shape(scanner, entry.name);
  } else if (field == "data_offsets" && !entry.range) {
    entry.range = read_range(scanner);
  } else {
    fail(fmt::format("tensor {}: field {} is unknown or repeated", in_quotes(entry.name), in_quotes(field)));
  }
}

void check_size(const Entry& entry) {
  const auto [begin, end] = *entry.range;
  const auto num_elements = entry.shape->checked_num_elements();
  const auto size_bytes = num_elements ? tensor::dtype_bytes(entry.type->type, *num_elements) : std::nullopt;
  if (size_bytes && end >= begin && end - begin == *size_bytes) return;
  fail(fmt::format("tensor {}: shape {} of {} does not take the bytes {} to {}", in_quotes(entry.name),
                   entry.shape->to_string(), entry.type->name, begin, end));
}

Entry read_entry(JsonScanner& scanner, std::string name) {
  Entry entry;
  entry.name = std::move(name);
  if (entry.name.empty()) fail("a tensor's name is empty");
  if (entry.name.find('\0') != std::string::npos) fail("tensor name " + in_quotes(entry.name) + " contains a NUL byte");
  scanner.expect('{');
  read_list(scanner, '}', [&] { read_field(scanner, entry); });
  if (entry.type == nullptr || !entry.shape || !entry.range) {
    fail(fmt::format("tensor {}: dtype, shape and data_offsets must all be there", in_quotes(entry.name)));
  }
  check_size(entry);
  return entry;
}

std::vector<Entry> read_header(std::string_view header) {
  if (!header.starts_with('{')) fail("not a safetensors file: its header does not begin with '{'");
  if (!base::is_valid_utf8(header)) fail("the header is not UTF-8");
  JsonScanner scanner(header);
  std::vector<Entry> entries;
  bool has_metadata = false;
  scanner.expect('{');
  read_list(scanner, '}', [&] {
    std::string name = scanner.read_string();
    scanner.expect(':');
    if (name != kFileMetadataKey) {
      if (entries.size() == kMaxHeaderTensors) fail(fmt::format("more than {} tensors", kMaxHeaderTensors));
      entries.push_back(read_entry(scanner, std::move(name)));
    } else if (std::exchange(has_metadata, true)) {
      fail("__metadata__ occurs more than once");
    } else {
      skip_file_metadata(scanner);
    }
  });
  if (!scanner.at_end()) fail("the header goes on after its last brace");
  return entries;
}

std::vector<const Entry*> sorted(const std::vector<Entry>& entries) {
  std::vector<const Entry*> order;
  order.reserve(entries.size());
  for (const Entry& entry : entries)
    order.push_back(&entry);
  return order;
}

void check_unique(const std::vector<Entry>& entries) {
  std::vector<const Entry*> order = sorted(entries);
  std::ranges::sort(order, {}, [](const Entry* entry) { return std::string_view(entry->name); });
  const auto duplicate =
      std::ranges::adjacent_find(order, {}, [](const Entry* entry) -> const std::string& { return entry->name; });
  if (duplicate != order.end()) fail("tensor " + in_quotes((*duplicate)->name) + " occurs more than once");
}

void check_exact_cover(const std::vector<Entry>& entries, std::uint64_t data_bytes) {
  std::vector<const Entry*> order = sorted(entries);
  std::ranges::sort(order, {}, [](const Entry* entry) { return *entry->range; });
  std::uint64_t covered = 0;
  for (const Entry* entry : order) {
    const auto [begin, end] = *entry->range;
    if (begin != covered) {
      fail(fmt::format("tensor {} begins at byte {} of the data, the one before it ends at {}", in_quotes(entry->name),
                       begin, covered));
    }
    covered = end;
  }
  if (covered == data_bytes) return;
  fail(fmt::format("the tensors take {} bytes, the file has {} bytes of data{}", covered, data_bytes,
                   covered > data_bytes ? ": it is cut short" : ""));
}

bool is_weight(const Entry& entry) {
  return entry.type->is_weight && *entry.shape->checked_num_elements() != 0;
}

SafetensorsHeader place_tensors(std::vector<Entry> entries, std::span<const std::byte> data) {
  SafetensorsHeader header;
  header.tensors.reserve(entries.size());
  for (Entry& entry : entries) {
    if (is_weight(entry)) {
      header.tensors.push_back(
          {std::move(entry.name), {entry.type->type, *entry.shape, data.data() + entry.range->front()}});
    } else if (header.num_skipped++ == 0) {
      header.first_skipped = std::move(entry.name);
    }
  }
  return header;
}

}  // namespace

SafetensorsHeader parse_safetensors(std::span<const std::byte> file) {
  ByteReader reader(file);
  const auto header_bytes = reader.read<std::uint64_t>();
  if (!header_bytes) fail("not a safetensors file: shorter than 8 bytes");
  if (*header_bytes > kMaxHeaderBytes) {
    fail(fmt::format("not a safetensors file: its header claims {} bytes; at most {} are allowed", *header_bytes,
                     kMaxHeaderBytes));
  }
  const auto header = reader.take(*header_bytes);
  if (!header) {
    fail(fmt::format("the header claims {} bytes, the file has {}: it is cut short", *header_bytes, file.size()));
  }
  std::vector<Entry> entries = read_header({reinterpret_cast<const char*>(header->data()), header->size()});
  const auto data = file.subspan(reader.position());
  check_unique(entries);
  check_exact_cover(entries, data.size());
  return place_tensors(std::move(entries), data);
}

}  // namespace vitrine::loader
