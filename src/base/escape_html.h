#pragma once

#include <string>
#include <string_view>

namespace vitrine::base {

// A text as it stands in HTML or SVG, inside an element or an attribute in double quotes.
std::string escape_html(std::string_view text);

}  // namespace vitrine::base
