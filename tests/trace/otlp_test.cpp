#include "trace/otlp.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace vitrine::trace {
namespace {

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c";
const std::string kSpan = "b7ad6b7169203331";

TEST(Traceparent, NamesTraceSpanAndWhetherItIsRecorded) {
  const auto parent = parse_traceparent("00-" + kTrace + "-" + kSpan + "-01");
  ASSERT_TRUE(parent);
  EXPECT_EQ(parent->trace_id, kTrace);
  EXPECT_EQ(parent->span_id, kSpan);
  EXPECT_TRUE(parent->is_sampled);
  EXPECT_FALSE(parse_traceparent("00-" + kTrace + "-" + kSpan + "-00")->is_sampled);
  EXPECT_TRUE(parse_traceparent("00-" + kTrace + "-" + kSpan + "-0b")->is_sampled);
  EXPECT_TRUE(parse_traceparent("01-" + kTrace + "-" + kSpan + "-01-more")) << "a later version may say more";
}

TEST(Traceparent, WhatIsNoneIsNone) {
  const std::string zeros(32, '0');
  for (const std::string& header :
       {std::string(), "00-" + kTrace + "-" + kSpan, "00-" + kTrace + "-" + kSpan + "-01-more",
        "ff-" + kTrace + "-" + kSpan + "-01", "00-" + zeros + "-" + kSpan + "-01",
        "00-" + kTrace + "-" + zeros.substr(16) + "-01", "00-" + kTrace + "-B7AD6B7169203331-01",
        "00_" + kTrace + "-" + kSpan + "-01", "01-" + kTrace + "-" + kSpan + "-01more",
        "00-" + kTrace + "-" + kSpan + "-0x"})
    EXPECT_FALSE(parse_traceparent(header)) << header;
}

TEST(OtlpJson, HasTheFormOfTheSpecification) {
  ExportSpan span{.trace_id = kTrace,
                  .span_id = kSpan,
                  .parent_span_id = {},
                  .trace_state = {},
                  .name = "chat \xff",
                  .kind = ExportKind::kServer,
                  .start_unix_ns = 1'700'000'000'000'000'001,
                  .end_unix_ns = 1'700'000'000'000'000'002,
                  .attributes = {},
                  .is_error = true};
  span.attributes = {{"flag", true},
                     {"count", std::int64_t{1} << 60},
                     {"share", 0.5},
                     {"text", std::string("a\"b")},
                     {"list", std::vector<std::string>{"stop", "length"}}};
  const std::vector<ExportAttribute> resource = {{"service.name", std::string("vitrine")}};
  const auto json = nlohmann::json::parse(otlp_json(resource, {&span, 1}));
  const auto& one = json.at("resourceSpans").at(0);
  EXPECT_EQ(one.at("resource").at("attributes").at(0).at("value").at("stringValue"), "vitrine");
  const auto& written = one.at("scopeSpans").at(0).at("spans").at(0);
  EXPECT_EQ(written.at("traceId"), kTrace);
  EXPECT_FALSE(written.contains("parentSpanId"));
  EXPECT_EQ(written.at("kind"), 2);
  EXPECT_EQ(written.at("startTimeUnixNano"), "1700000000000000001");
  EXPECT_EQ(written.at("status").at("code"), 2);
  EXPECT_EQ(written.at("attributes").at(0).at("value").at("boolValue"), true);
  EXPECT_EQ(written.at("attributes").at(1).at("value").at("intValue"), "1152921504606846976");
  EXPECT_EQ(written.at("attributes").at(2).at("value").at("doubleValue"), 0.5);
  EXPECT_EQ(written.at("attributes").at(3).at("value").at("stringValue"), "a\"b");
  EXPECT_EQ(written.at("attributes").at(4).at("value").at("arrayValue").at("values").at(1).at("stringValue"), "length");
}

}  // namespace
}  // namespace vitrine::trace
