#include "loader/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string>

#include "loader/errors.h"
#include "loader/gguf_split.h"

namespace vitrine::loader {
namespace {

struct Part {
  base::MappedFile file;
  GgufHeader header;
};

Part open_part(const std::filesystem::path& path) {
  base::MappedFile file = base::MappedFile::open(path).value_or_throw();
  auto header = catch_errors(path, [&] { return parse_gguf(file.bytes()); });
  return {std::move(file), std::move(header).value_or_throw()};
}

[[noreturn]] void fail_part(const Part& part, std::string message) {
  throw base::Exception(with_path(part.file.path(), base::bad_file(std::move(message))));
}

std::uint64_t split_value(const Part& part, std::string_view key, std::uint64_t default_value, std::uint64_t max) {
  auto value = part.header.metadata.uint_value(key, 0, max);
  if (!value) fail_part(part, value.error().message);
  return value->value_or(default_value);
}

// 1 for a whole file.
std::uint64_t split_count(const Part& part) {
  const std::uint64_t count = split_value(part, "split.count", 1, kMaxSplitParts);
  return count == 0 ? 1 : count;
}

void check_part(const Part& part, std::uint64_t part_idx, std::uint64_t num_parts) {
  if (split_count(part) != num_parts) {
    fail_part(part, fmt::format("split.count is {}, the file name says {} parts", split_count(part), num_parts));
  }
  const std::uint64_t number = split_value(part, "split.no", 0, kMaxSplitParts);
  if (number != part_idx) {
    fail_part(part,
              fmt::format("split.no is {}, the file name says part {} (split.no {})", number, part_idx + 1, part_idx));
  }
}

void check_tensor_count(const Part& first, std::size_t num_tensors) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t claimed = split_value(first, "split.tensors.count", num_tensors, kMax);
  if (claimed == num_tensors) return;
  fail_part(first, fmt::format("split.tensors.count is {}, the parts hold {} tensors", claimed, num_tensors));
}

std::vector<Part> open_parts(const std::filesystem::path& path) {
  std::vector<Part> parts;
  const std::optional<SplitName> name = parse_split_name(path);
  if (!name || name->num_parts == 1) {
    parts.push_back(open_part(path));
    if (split_count(parts.front()) > 1) {
      fail_part(parts.front(), fmt::format("one of {} parts of a split model, but the file name does not end in "
                                           "-00001-of-{:05}.gguf; give it back its name",
                                           split_count(parts.front()), split_count(parts.front())));
    }
    return parts;
  }
  for (std::uint64_t part_idx = 0; part_idx < name->num_parts; ++part_idx) {
    parts.push_back(open_part(split_part_path(*name, part_idx)));
    check_part(parts.back(), part_idx, name->num_parts);
  }
  return parts;
}

GgufModel join_parts(std::vector<Part> parts) {
  std::vector<base::MappedFile> files;
  std::vector<NamedTensor> tensors;
  for (Part& part : parts)
    std::ranges::move(part.header.tensors, std::back_inserter(tensors));
  check_tensor_count(parts.front(), tensors.size());
  const std::filesystem::path path = parts.front().file.path();
  for (Part& part : parts)
    files.push_back(std::move(part.file));
  auto weights = WeightSource::create(std::move(files), std::move(tensors));
  if (!weights) throw base::Exception(with_path(path, weights.error()));
  GgufHeader& header = parts.front().header;
  return {header.version, std::move(header.metadata), *std::move(weights)};
}

}  // namespace

base::Result<GgufModel> open_gguf(const std::filesystem::path& path) {
  try {
    return join_parts(open_parts(path));
  } catch (const base::Exception& exception) {
    return exception.error();
  }
}

}  // namespace vitrine::loader
