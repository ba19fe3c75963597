#pragma once

#include <string>
#include <vector>

#include "tools/load/load_report.h"

namespace vitrine::tools {

// What a page of measurements says.
struct LoadPage {
  struct Row {
    std::string load;  // "8 at once"
    LoadReport report;
  };
  std::string url;
  std::string model;
  std::string when;  // the day
  std::vector<Row> rows;
};

// One HTML file that needs nothing else: plots of throughput and latencies, the figures, and what they mean.
std::string html_report(const LoadPage& page);

}  // namespace vitrine::tools
