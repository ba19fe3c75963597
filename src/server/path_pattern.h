#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine::server {

// Paths of the route table may have parts in braces, as in "/v1/admin/keys/{id}/rotate": each stands for one part of a
// path, whatever is in it, but not for nothing. Paths are compared byte by byte; nothing is decoded.

// What stands in the place of each part in braces, in their order; nullopt where the path does not fit.
std::optional<std::vector<std::string>> match_path(std::string_view pattern, std::string_view path);

// The pattern with what `path` has in the places of its parts in braces, as far as that has parts: to tell how near a
// path comes to a pattern.
std::string fill_pattern(std::string_view pattern, std::string_view path);

}  // namespace vitrine::server
