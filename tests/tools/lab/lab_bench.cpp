#include "tools/lab/lab_bench.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/cpu_memory.h"
#include "models/registry.h"
#include "support/well_formed.h"

namespace vitrine::lab {
namespace {

using ::testing::HasSubstr;

std::set<std::string> keys_of(const Json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items())
    keys.insert(key);
  return keys;
}

}  // namespace

TinyBench::TinyBench()
    : bundle_(tools::open_model(files_.path()).value_or_throw()),
      backend_(
          {.isa = backends::cpu::choose_isa_from_environment().value_or_throw(),
           .num_threads = 2,
           .paths = backends::cpu::PathTable::for_isa(backends::cpu::choose_isa_from_environment().value_or_throw())}),
      model_(models::load_model(bundle_.files, backend_).value_or_throw()),
      network_(plan::network_of(bundle_.files, backends::cpu::CpuMemory(backend_.isa(), backend_.paths(), 2))) {
  tokenizers_.push_back({"tiny", tools::open_tokenizer(files_.path()).value_or_throw()});
  bench_ = std::make_unique<Workbench>(Workbench{.model_name = "tiny",
                                                 .model = *model_,
                                                 .network = network_,
                                                 .backend = backend_,
                                                 .num_threads = 2,
                                                 .tokenizer = bundle_.tokenizer.get(),
                                                 .tokenizers = tokenizers_,
                                                 .known_tokenizers = {"tok:somewhere"},
                                                 .is_quick = true});
}

void expect_whole(const Report& report) {
  const Origin origin{"a <model>", "2025-03-14", {{"cpu", "a | cpu"}, {"threads", 2}}};
  const Json json = Json::parse(to_json(report, origin).dump());
  for (const char* key : {"name", "title", "model", "day", "measured", "expected", "verdict", "conclusion"}) {
    ASSERT_TRUE(json.contains(key)) << key;
    EXPECT_TRUE(json.at(key).is_string()) << key;
    EXPECT_NE(json.at(key), "") << key;
  }
  EXPECT_THAT(json.at("verdict"), ::testing::AnyOf("as_expected", "contradicts", "unclear"));
  EXPECT_TRUE(json.at("machine").is_object());
  EXPECT_TRUE(json.at("settings").is_object());
  EXPECT_TRUE(json.at("notes").is_array());
  ASSERT_TRUE(json.at("rows").is_array());
  ASSERT_FALSE(json.at("rows").empty());
  for (const Json& row : json.at("rows")) {
    EXPECT_EQ(keys_of(row), keys_of(json.at("rows").front()));
    for (const Column& column : report.columns)
      EXPECT_TRUE(row.contains(column.key)) << column.key;
  }
  for (const auto& cells : cells_of(report))
    EXPECT_EQ(cells.size(), report.columns.size());
  EXPECT_EQ(lines_of(report).size(), 3U);
  ASSERT_FALSE(report.plots.empty());
  for (const std::string& plot : report.plots) {
    EXPECT_EQ(testing::xml_fault(plot), "");
    EXPECT_THAT(plot, ::testing::Not(HasSubstr("nan")));
  }
  EXPECT_THAT(to_markdown(report, origin), HasSubstr("](<" + report.name + ".svg>)"));
  EXPECT_THAT(to_markdown(report, origin), HasSubstr("Here: "));
  EXPECT_THAT(to_html(report, origin), HasSubstr("a &lt;model&gt;, 2025-03-14, a | cpu, 2 threads"));
}

}  // namespace vitrine::lab
