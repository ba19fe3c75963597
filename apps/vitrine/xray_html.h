#pragma once

#include <string>
#include <string_view>

#include "vitrine/xray_source.h"

namespace vitrine::cli {

// The X-ray page as one file that needs no server: the page's template with the data put in, as much of it as 3 MB
// hold; what is left out says so there (docs/pages.md).
std::string xray_html(XraySource& xray, std::string_view page_template);

}  // namespace vitrine::cli
