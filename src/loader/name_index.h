#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace vitrine::loader {

// Finds the position of a name in a list by binary search: no hash, so no file can make it slow. Keeps views only;
// whoever owns the names must outlive it. Read-only after construction, so safe from any thread.
class NameIndex {
 public:
  NameIndex() = default;
  explicit NameIndex(const std::vector<std::string_view>& names);

  std::optional<std::size_t> find(std::string_view name) const;  // the first one where there are several
  std::optional<std::string_view> duplicate() const;             // a name that occurs more than once

 private:
  std::vector<std::pair<std::string_view, std::size_t>> sorted_;
};

}  // namespace vitrine::loader
