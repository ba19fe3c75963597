#include "loader/gguf_writer.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/checked.h"

namespace vitrine::loader {
namespace {

constexpr std::uint32_t kVersion = 3;
constexpr std::uint64_t kAlignment = 32;  // what a file without general.alignment has

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_text(std::string& out, std::string_view text) {
  put(out, std::uint64_t{text.size()});
  out.append(text);
}

std::uint64_t padding(std::uint64_t size) {
  return (kAlignment - size % kAlignment) % kAlignment;
}

std::uint64_t data_bytes(const GgufOutline::Entry& tensor) {
  const auto row_bytes = tensor::dtype_bytes(tensor.type, tensor.shape.row_elements());
  VT_CHECK(row_bytes, "rows are whole blocks");
  return tensor.shape.num_rows() * *row_bytes;
}

}  // namespace

void GgufOutline::begin_value(std::string_view key, MetadataType type) {
  append_text(key);
  append_bytes(static_cast<std::uint32_t>(type));
  ++num_entries_;
}

void GgufOutline::begin_array(std::string_view key, MetadataType element_type, std::size_t count) {
  begin_value(key, MetadataType::kArray);
  append_bytes(static_cast<std::uint32_t>(element_type));
  append_bytes(std::uint64_t{count});
}

void GgufOutline::append_text(std::string_view text) {
  put_text(metadata_, text);
}

GgufOutline& GgufOutline::add(std::string_view key, std::string_view text) {
  begin_value(key, MetadataType::kString);
  append_text(text);
  return *this;
}

GgufOutline& GgufOutline::add_array(std::string_view key, std::span<const std::string> values) {
  begin_array(key, MetadataType::kString, values.size());
  for (const std::string& value : values)
    append_text(value);
  return *this;
}

GgufOutline& GgufOutline::add_tensor(std::string name, const tensor::Shape& shape, tensor::DType type) {
  tensors_.push_back({std::move(name), shape, type});
  return *this;
}

std::string GgufOutline::header() const {
  std::string out = "GGUF";
  put(out, kVersion);
  put(out, std::uint64_t{tensors_.size()});
  put(out, num_entries_);
  out += metadata_;
  std::uint64_t offset = 0;
  for (const Entry& tensor : tensors_) {
    put_text(out, tensor.name);
    put(out, static_cast<std::uint32_t>(tensor.shape.rank()));
    for (std::size_t axis = tensor.shape.rank(); axis > 0; --axis)
      put(out, std::uint64_t{tensor.shape[axis - 1]});
    put(out, static_cast<std::uint32_t>(tensor.type));
    put(out, offset);
    offset += data_bytes(tensor);
    offset += padding(offset);
  }
  out.append(padding(out.size()), '\0');
  return out;
}

std::uint64_t GgufOutline::file_bytes() const {
  std::uint64_t size = header().size();
  for (const Entry& tensor : tensors_) {
    size += data_bytes(tensor);
    size += padding(size);
  }
  return size;
}

GgufFile::GgufFile(std::filesystem::path path, const GgufOutline& outline)
    : path_(std::move(path)), partial_path_(path_), outline_(outline) {
  partial_path_ += ".partial";
  file_.open(partial_path_, std::ios::binary | std::ios::trunc);
  const std::string header = outline.header();
  write(header.data(), header.size());
  if (!outline.tensors().empty()) tensor_bytes_left_ = data_bytes(outline.tensors().front());
}

GgufFile::~GgufFile() {
  if (partial_path_.empty()) return;
  file_.close();
  std::error_code ignored;
  std::filesystem::remove(partial_path_, ignored);
}

void GgufFile::write(const void* data, std::size_t size) {
  errno = 0;
  file_.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  if (file_) return;
  throw base::Exception(base::ErrorKind::kIo, path_.string() + ": cannot be written: " +
                                                  std::strerror(errno == 0 ? EIO : errno) + "; choose another place");
}

void GgufFile::append(std::span<const std::byte> data) {
  VT_CHECK(data.size() <= tensor_bytes_left_, "a piece belongs to one tensor");
  write(data.data(), data.size());
  tensor_bytes_left_ -= data.size();
  if (tensor_bytes_left_ != 0) return;
  const std::string zeros(padding(data_bytes(outline_.tensors()[tensor_idx_])), '\0');
  write(zeros.data(), zeros.size());
  ++tensor_idx_;
  if (tensor_idx_ < outline_.tensors().size()) tensor_bytes_left_ = data_bytes(outline_.tensors()[tensor_idx_]);
}

void GgufFile::finish() {
  VT_CHECK(tensor_idx_ == outline_.tensors().size(), "every tensor has its data");
  file_.close();
  write(nullptr, 0);
  std::error_code failure;
  std::filesystem::rename(partial_path_, path_, failure);
  if (failure) throw base::Exception(base::ErrorKind::kIo, path_.string() + ": " + failure.message());
  partial_path_.clear();
}

}  // namespace vitrine::loader
