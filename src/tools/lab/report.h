#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/lab/spread.h"

namespace vitrine::lab {

using Json = nlohmann::ordered_json;

// What the figures of this run say about what is said everywhere.
enum class Verdict {
  kAsExpected,
  kContradicts,  // the run disagrees
  kUnclear,      // the runs vary too much, or were too few
};
std::string_view verdict_name(Verdict verdict);  // "as_expected", "contradicts", "unclear"

struct Conclusion {
  Verdict verdict = Verdict::kUnclear;
  std::string text;  // a sentence or a few, with the figures that it rests on
};

// How a field of the rows is shown to people.
struct Column {
  std::string key;  // of the JSON row
  std::string title;
  int decimals = 0;     // of numbers that are not whole
  double factor = 1.0;  // 1000 shows seconds as milliseconds
};

// What a lab found: figures for programs, a table, plots and three lines for people.
struct Report {
  std::string name;
  std::string title;
  std::string measured;       // the three lines: what was run,
  std::string expected;       // what is said of it everywhere,
  Conclusion conclusion;      // and what this run says
  Json rows = Json::array();  // objects with the same keys; sizes in bytes, times in seconds
  std::vector<Column> columns;
  std::vector<std::string> plots;  // SVG
  std::vector<std::string> notes;
  Json settings = Json::object();
};

// "name_x", with "name_x_low" and "name_x_high": how much more one took than the other.
void add_ratio(Json& row, const std::string& name, const Spread& ratio);

std::string cell_of(const Json& row, const Column& column);
std::vector<std::string> header_of(const Report& report);
std::vector<std::vector<std::string>> cells_of(const Report& report);
// The three lines.
std::vector<std::string> lines_of(const Report& report);

// Where and with what a report came about.
struct Origin {
  std::string model;
  std::string day;  // "2025-03-14"
  Json machine = Json::object();
};
Json to_json(const Report& report, const Origin& origin);
std::string to_markdown(const Report& report, const Origin& origin);
std::string to_html(const Report& report, const Origin& origin);
// "NAME.svg", "NAME-2.svg" ...
std::string plot_file_name(const std::string& name, std::size_t plot_idx);

}  // namespace vitrine::lab
