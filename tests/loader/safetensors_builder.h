#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vitrine::loader {

// A safetensors file of any header text and `data_bytes` zero bytes.
inline std::string safetensors_file(std::string_view header, std::size_t data_bytes) {
  const std::uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + std::string(header) + std::string(data_bytes, '\0');
}

}  // namespace vitrine::loader
