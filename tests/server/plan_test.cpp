#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "plan/report.h"
#include "server/api_error.h"
#include "server/query.h"
#include "server/server_fixture.h"
#include "store/key_store.h"
#include "support/temp_dir.h"

namespace vitrine::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using PlanJson = nlohmann::json;

class Planner : public ::testing::Test {
 protected:
  WireAnswer ask_plan(const std::string& query) const {
    return ask(server_.port(), get("/v1/plan" + (query.empty() ? query : "?" + query)));
  }
  PlanJson plan(const std::string& query) const {
    const WireAnswer answer = ask_plan(query);
    EXPECT_EQ(answer.status, 200U) << answer.body;
    return PlanJson::parse(answer.body);
  }
  std::string refusal(const std::string& query) const {
    const WireAnswer answer = ask_plan(query);
    EXPECT_EQ(answer.status, 400U) << answer.body;
    return PlanJson::parse(answer.body)["error"]["message"];
  }

 private:
  TestServer server_;
};

TEST_F(Planner, PlansTheFirstModelWhereNoneIsNamed) {
  const PlanJson json = plan("");
  EXPECT_EQ(json["model"]["name"], "tiny");
  EXPECT_EQ(json["rows"].size(), 1U);
  // What the process itself takes moves from one moment to the next.
  for (const char* field : {"context", "batch", "weights_bytes", "kv_bytes", "activations_bytes", "kv_formula"})
    EXPECT_EQ(json["rows"][0][field], plan("model=alias")["rows"][0][field]) << field;
  EXPECT_THAT(json["choices"]["models"], ElementsAre("tiny"));
  EXPECT_EQ(json["choices"]["shapes"].size(), plan::model_shapes().size());
  EXPECT_EQ(json["model"]["weights"].get<std::string>().find('/'), std::string::npos) << "no place on the disk";
}

TEST_F(Planner, HasARowForEachTypeBatchAndContext) {
  const PlanJson rows = plan("shape=llama-3.1-8b&context=4096,8192&batch=1,8&kv_type=f16%2Cq8_0")["rows"];
  ASSERT_EQ(rows.size(), 8U);
  EXPECT_EQ(rows[0]["kv_bytes"], std::size_t{4096} * 32 * 8 * 256 * 2);
  EXPECT_EQ(rows[0]["kv_formula"]["copied_ratio"], 4.0);
  EXPECT_FALSE(rows[0]["fits"]) << "in 1 GiB";
  EXPECT_EQ(rows[3]["batch"], 8);
  EXPECT_EQ(rows[7]["kv_type"], "q8_0");
  EXPECT_TRUE(rows[0]["decode_tokens_per_s"].is_null()) << "nothing was measured";
}

TEST_F(Planner, RefusesWhatItCannotReckonWithByItsField) {
  EXPECT_THAT(refusal("shape=llama-9"), HasSubstr("llama-3.1-8b"));
  EXPECT_THAT(refusal("shape=gpt2&model=tiny"), HasSubstr("not both"));
  EXPECT_THAT(refusal("context=0"), HasSubstr("context: whole numbers from 1"));
  EXPECT_THAT(refusal("context=4096,,8192"), HasSubstr("context"));
  EXPECT_THAT(refusal("batch=1.5"), HasSubstr("batch"));
  EXPECT_THAT(refusal("batch=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"), HasSubstr("more than 16"));
  EXPECT_THAT(refusal("kv_type=f12"), HasSubstr("kv_type: use f16"));
  EXPECT_THAT(refusal("shape=gpt2&type=f12"), HasSubstr("q4_k_m"));
  EXPECT_THAT(refusal("users=3"), HasSubstr("the query may have model, shape"));
  EXPECT_EQ(ask_plan("model=none").status, 404U);
}

TEST(PlannerKeys, AKeyPlansForItsOwnModelsAlone) {
  const testing::TempDir folder;
  store::KeyStore keys(folder.path());
  const store::LimitChanges limits{.models = std::vector<std::string>{"other"}};
  const std::string key = keys.create("a", store::KeyRole::kUser, limits).text;
  ServerOptions options;
  options.keys = &keys;
  const TestServer server(std::move(options));
  const std::string head = "Authorization: Bearer " + key + "\r\n";
  EXPECT_EQ(ask(server.port(), get("/v1/plan?model=tiny", head)).status, 403U);
  EXPECT_EQ(ask(server.port(), get("/v1/plan?shape=gpt2", head)).status, 200U);
  EXPECT_EQ(ask(server.port(), get("/v1/plan?shape=gpt2")).status, 401U);
}

TEST(QueryText, BytesMayBeEscaped) {
  const Query query("a=x%2Cy&b=&c=%E4%BD%A0", {"a", "b", "c", "d"});
  EXPECT_EQ(query.text("a"), "x,y");
  EXPECT_EQ(query.text("b"), std::nullopt);
  EXPECT_EQ(query.text("c"), "你");
  EXPECT_EQ(query.text("d"), std::nullopt);
  for (const char* text : {"a=%2", "a=%", "a=%zz", "a=1&a=2", "e=1", "&"})
    EXPECT_THROW(Query(text, {"a"}), ApiException) << text;
}

}  // namespace
}  // namespace vitrine::server
