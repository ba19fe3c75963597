#include "tensor/npy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/mapped_file.h"

namespace vitrine::tensor {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);  // with version 1.0
constexpr std::size_t kPreambleBytes = 10;                  // magic, version, header length as uint16
constexpr std::size_t kAlignment = 64;

struct StoredType {
  std::string_view descr;  // as a Python literal
  DType type;
};

constexpr auto kStoredTypes =
    std::to_array<StoredType>({{"'<f4'", DType::kF32}, {"'<i4'", DType::kI32}, {"'<i8'", DType::kI64}});

std::string shape_text(const Shape& shape) {
  std::string text = "(";
  for (const std::size_t dim : shape.dims())
    text += std::to_string(dim) + ", ";
  return text + ")";
}

// A Python dict, padded with spaces so that the data begins at a multiple of 64 bytes.
std::string header_text(const StoredType& stored, const Shape& shape) {
  std::string header = "{'descr': ";
  header.append(stored.descr).append(", 'fortran_order': False, 'shape': ").append(shape_text(shape)).append(", }");
  const std::size_t unpadded = kPreambleBytes + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  return header + "\n";
}

// Reads the dict of the header: the form is fixed but for spaces and trailing commas.
class DictScanner {
 public:
  explicit DictScanner(std::string_view text) : text_(text) {}

  bool accept(std::string_view token) {
    skip_space();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  std::optional<std::size_t> read_number() {
    skip_space();
    std::size_t value = 0;
    const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (code != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }
  bool at_end() {
    skip_space();
    return text_.empty();
  }

 private:
  void skip_space() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size())); }

  std::string_view text_;
};

const StoredType* read_type(DictScanner& scanner) {
  for (const StoredType& stored : kStoredTypes) {
    if (scanner.accept(stored.descr)) return &stored;
  }
  return nullptr;
}

std::optional<Shape> read_shape(DictScanner& scanner) {
  std::array<std::size_t, Shape::kMaxRank> dims{};
  std::size_t rank = 0;
  if (!scanner.accept("(")) return std::nullopt;
  while (!scanner.accept(")")) {
    const auto dim = scanner.read_number();
    if (!dim || rank == dims.size()) return std::nullopt;
    dims[rank++] = *dim;
    if (scanner.accept(",")) continue;
    if (!scanner.accept(")")) return std::nullopt;
    break;
  }
  return Shape(std::span<const std::size_t>(dims.data(), rank));
}

// Type and shape; the data is still missing.
base::Result<NpyArray> parse_header(std::string_view text) {
  DictScanner scanner(text);
  const bool has_descr = scanner.accept("{") && scanner.accept("'descr'") && scanner.accept(":");
  const StoredType* stored = has_descr ? read_type(scanner) : nullptr;
  if (stored == nullptr) return base::bad_file(".npy type: only '<f4', '<i4' and '<i8' are read");
  if (!scanner.accept(",") || !scanner.accept("'fortran_order'") || !scanner.accept(":") || !scanner.accept("False")) {
    return base::bad_file(".npy fortran_order: must be False");
  }
  const bool has_shape = scanner.accept(",") && scanner.accept("'shape'") && scanner.accept(":");
  const std::optional<Shape> shape = has_shape ? read_shape(scanner) : std::nullopt;
  scanner.accept(",");
  if (!shape || !scanner.accept("}") || !scanner.at_end()) {
    return base::bad_file(".npy shape: must be a tuple of at most four numbers");
  }
  return NpyArray{stored->type, *shape, {}};
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

base::Error write_error(const std::filesystem::path& path) {
  return {base::ErrorKind::kIo, path.string() + ": cannot be written: " + std::strerror(errno)};
}

}  // namespace

base::Result<void> write_npy(const std::filesystem::path& path, const TensorView& array) {
  const auto* stored = std::ranges::find(kStoredTypes, array.type, &StoredType::type);
  VT_CHECK(stored != kStoredTypes.end(), "only float32, int32 and int64 arrays are written as .npy");
  const std::string header = header_text(*stored, array.shape);
  const std::array<char, 2> header_size{static_cast<char>(header.size() & 0xFFU),
                                        static_cast<char>(header.size() >> 8U)};
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) return write_error(path);
  // An empty array may have no data at all, which fwrite may not be given.
  const auto write = [&](const void* data, std::size_t size) {
    return size == 0 || std::fwrite(data, 1, size, file.get()) == size;
  };
  const bool written = write(kMagic.data(), kMagic.size()) && write(header_size.data(), header_size.size()) &&
                       write(header.data(), header.size()) && write(array.data, array.size_bytes());
  if (!written || std::fflush(file.get()) != 0) return write_error(path);
  return {};
}

base::Result<NpyArray> parse_npy(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic)) return base::bad_file("not a .npy file of version 1.0");
  if (text.size() < kPreambleBytes) return base::bad_file(".npy header is cut short");
  const std::size_t header_size = std::to_integer<std::size_t>(file[8]) | (std::to_integer<std::size_t>(file[9]) << 8U);
  if (header_size > text.size() - kPreambleBytes) return base::bad_file(".npy header is cut short");
  auto array = parse_header(text.substr(kPreambleBytes, header_size));
  if (!array) return array;
  const auto data = file.subspan(kPreambleBytes + header_size);
  const auto num_elements = array->shape.checked_num_elements();
  const auto size_bytes = num_elements ? dtype_bytes(array->type, *num_elements) : std::nullopt;
  if (size_bytes != data.size()) {
    return base::bad_file(".npy shape " + array->shape.to_string() + " does not fit " + std::to_string(data.size()) +
                          " bytes of data");
  }
  array->bytes.assign(data.begin(), data.end());
  return array;
}

base::Result<NpyArray> read_npy(const std::filesystem::path& path) {
  const auto file = base::MappedFile::open(path);
  if (!file) return file.error();
  auto array = parse_npy(file->bytes());
  if (!array) return base::Error{array.error().kind, path.string() + ": " + array.error().message};
  return array;
}

}  // namespace vitrine::tensor
