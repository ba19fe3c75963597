#pragma once

#include <string>
#include <vector>

namespace vitrine::plot {

// A page in HTML that needs nothing else and follows the reader's light or dark scheme.
struct Page {
  std::string title;
  std::vector<std::string> notes;    // paragraphs
  std::vector<std::string> figures;  // SVG, put in as they are
  std::vector<std::string> columns;  // of the table
  std::vector<std::vector<std::string>> rows;
  std::string foot;  // HTML, put in as it is
};
std::string html(const Page& page);

}  // namespace vitrine::plot
