#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "quant/quant_format.h"
#include "support/reference_data.h"

// Arrays of the reference data below tests/data/quant and tests/data/dots, and what the tests of this folder share.
namespace vitrine::quant {

// The raw array that an index names by its field "file" (relative to tests/data).
template <class Element>
std::vector<Element> load_array(const nlohmann::json& reference) {
  const std::string bytes = testing::read_file(testing::data_path(reference.at("file").get<std::string>()));
  std::vector<Element> elements(bytes.size() / sizeof(Element));
  std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(Element));
  return elements;
}

inline const QuantFormat& format_named(const std::string& name) {
  const tensor::DTypeInfo* info = tensor::find_dtype(name);
  if (info == nullptr) throw std::runtime_error("no type " + name);
  const QuantFormat* format = find_quant_format(info->type);
  if (format == nullptr) throw std::runtime_error("no format " + name);
  return *format;
}

inline std::vector<float> decode(const QuantFormat& format, const std::vector<std::byte>& blocks) {
  const tensor::DTypeInfo& info = tensor::dtype_info(format.type);
  std::vector<float> values(blocks.size() / info.block_bytes * info.block_elements);
  format.decode(blocks.data(), values.data(), values.size());
  return values;
}

inline std::vector<std::byte> encode(const QuantFormat& format, const std::vector<float>& values) {
  std::vector<std::byte> blocks(*tensor::dtype_bytes(format.type, values.size()));
  format.encode(values.data(), blocks.data(), values.size());
  return blocks;
}

// Root mean square difference over elements [first, first + count).
inline double rmse(const std::vector<float>& a, const std::vector<float>& b, std::size_t first, std::size_t count) {
  double sum = 0.0;
  for (std::size_t i = first; i < first + count; ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(count));
}

}  // namespace vitrine::quant
