#include "loader/name_index.h"

#include <algorithm>

namespace vitrine::loader {
namespace {

using NamedIndex = std::pair<std::string_view, std::size_t>;

}  // namespace

NameIndex::NameIndex(const std::vector<std::string_view>& names) {
  sorted_.reserve(names.size());
  for (std::size_t name_idx = 0; name_idx < names.size(); ++name_idx)
    sorted_.emplace_back(names[name_idx], name_idx);
  std::ranges::sort(sorted_);
}

std::optional<std::size_t> NameIndex::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(sorted_, name, {}, &NamedIndex::first);
  if (found == sorted_.end() || found->first != name) return std::nullopt;
  return found->second;
}

std::optional<std::string_view> NameIndex::duplicate() const {
  const auto found = std::ranges::adjacent_find(sorted_, {}, &NamedIndex::first);
  if (found == sorted_.end()) return std::nullopt;
  return found->first;
}

}  // namespace vitrine::loader
