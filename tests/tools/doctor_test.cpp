#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"
#include "tools/doctor/machine_checks.h"
#include "tools/doctor/server_checks.h"
#include "tools/doctor/tokenizer_checks.h"
#include "tools/fake_hub.h"

namespace vitrine::doctor {
namespace {

using ::testing::HasSubstr;
using Checks = std::vector<Check>;

// The one of that name; the last where there are several.
Check find_check(const Checks& checks, const std::string& name) {
  Check found{.name = "missing: " + name, .detail = {}};
  for (const Check& check : checks) {
    if (check.name == name) found = check;
  }
  return found;
}

TEST(DoctorCheck, TheExitCodeIsThatOfTheWorst) {
  using enum base::ErrorKind;
  EXPECT_EQ(exit_code({}), 0);
  EXPECT_EQ(exit_code({ok("a", ""), warn("b", "", "")}), 0);
  EXPECT_EQ(exit_code({fail("a", kUsage, "", ""), fail("b", kNoPermission, "", "")}), 77);
  EXPECT_EQ(exit_code({fail("a", kNoMemory, "", ""), fail("b", kBadFile, "", ""), ok("c", "")}), 65);
}

TEST(DoctorCheck, AnErrorsFixStandsByItself) {
  const Check check = fail("file", base::Error{base::ErrorKind::kMissing, "x: no such model; try y; or z"});
  EXPECT_EQ(check.detail, "x: no such model");
  EXPECT_EQ(check.fix, "try y; or z");
  EXPECT_NE(fail("file", base::Error{base::ErrorKind::kBadFile, "no fix in it"}).fix, "");
  EXPECT_EQ(check.status, Status::kFail);
}

tools::Machine usual_machine() {
  tools::Machine machine;
  machine.cpu = "Some CPU";
  machine.cpus.allowed = {0, 1, 2, 3};
  machine.cpus.cores = {0, 1, 2, 3};
  machine.total_memory_bytes = std::uint64_t{16} << 30U;
  machine.available_memory_bytes = std::uint64_t{8} << 30U;
  return machine;
}

RunFacts usual_run() {
  return {.isa = "avx512",
          .isas = {"generic", "avx2", "avx512"},
          .num_threads = 4,
          .read_bytes_per_s = 20e9,
          .flops_per_s = 3e11};
}

TEST(DoctorMachine, WhereAllIsWellNothingIsToBeDone) {
  for (const Check& check :
       check_machine(usual_machine(), {.caches = {{"L2", 1 << 20}}, .huge_pages = "madvise"}, usual_run())) {
    EXPECT_EQ(check.status, Status::kOk) << check.name;
    EXPECT_EQ(check.fix, "") << check.name;
    EXPECT_NE(check.detail, "") << check.name;
  }
}

TEST(DoctorMachine, EachFaultHasItsFix) {
  tools::Machine machine = usual_machine();
  machine.cpus.quota = 1.5;
  machine.cpus.nodes = {0, 1};
  machine.available_memory_bytes = std::uint64_t{100} << 20U;
  RunFacts run = usual_run();
  run.isa = "avx2";
  run.read_bytes_per_s = 2e9;
  const Checks checks = check_machine(machine, {.caches = {}, .huge_pages = "never", .has_amx = true}, run);
  const std::map<std::string, std::string> fixes = {{"instruction_set", "unset VITRINE_ISA"},
                                                    {"amx", "Linux 5.16"},
                                                    {"threads", "--cpus 4"},
                                                    {"numa", "numactl --cpunodebind=0"},
                                                    {"memory", "1 GB"},
                                                    {"huge_pages", "transparent_hugepage/enabled"},
                                                    {"bandwidth", "measure again"}};
  for (const auto& [name, fix] : fixes) {
    EXPECT_EQ(find_check(checks, name).status, Status::kWarn) << name;
    EXPECT_THAT(find_check(checks, name).fix, HasSubstr(fix)) << name;
  }
  EXPECT_EQ(find_check(checks, "caches").status, Status::kOk);
  EXPECT_EQ(exit_code(checks), 0);
}

TEST(DoctorMachine, ACpuWithoutVectorsIsTold) {
  RunFacts run = usual_run();
  run.isa = "generic";
  run.isas = {"generic"};
  EXPECT_THAT(find_check(check_machine(usual_machine(), {}, run), "instruction_set").fix, HasSubstr("AVX2"));
}

TEST(DoctorMachine, WhatWasNotMeasuredIsNotTold) {
  RunFacts run = usual_run();
  run.read_bytes_per_s = run.flops_per_s = 0.0;
  EXPECT_THAT(find_check(check_machine(usual_machine(), {}, run), "bandwidth").name, HasSubstr("missing"));
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(DoctorMachine, ReadsWhatTheKernelSays) {
  const testing::TempDir folder;
  const std::filesystem::path root = folder.path();
  const std::filesystem::path cache = root / "sys/devices/system/cpu/cpu0/cache";
  write(cache / "index0/level", "1\n");
  write(cache / "index0/type", "Data\n");
  write(cache / "index0/size", "48K\n");
  write(cache / "index1/level", "1\n");
  write(cache / "index1/type", "Instruction\n");
  write(cache / "index2/level", "3\n");
  write(cache / "index2/type", "Unified\n");
  write(cache / "index2/size", "32M\n");
  write(root / "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  write(root / "proc/cpuinfo", "processor : 0\nflags\t: fpu avx2 amx_bf16 amx_tile\n");
  const HostFacts host = read_host(root);
  ASSERT_EQ(host.caches.size(), 2U);
  EXPECT_EQ(host.caches[0].name, "L1d");
  EXPECT_EQ(host.caches[0].size_bytes, 48U << 10U);
  EXPECT_EQ(host.caches[1].name, "L3");
  EXPECT_EQ(host.caches[1].size_bytes, 32U << 20U);
  EXPECT_EQ(host.huge_pages, "madvise");
  EXPECT_TRUE(host.has_amx);
  EXPECT_TRUE(host.has_avx2);
  const testing::TempDir empty;
  EXPECT_TRUE(read_host(empty.path()).huge_pages.empty());
}

TEST(DoctorTokenizer, SaysWhereLlamaCppDiffers) {
  EXPECT_EQ(check_llama_cpp("llama", "gpt2", "smollm").status, Status::kOk);
  EXPECT_EQ(check_llama_cpp("qwen3", "gpt2", "qwen2").status, Status::kWarn);
  EXPECT_THAT(check_llama_cpp("qwen3", "gpt2", "qwen2").detail, HasSubstr("NFD"));
  EXPECT_THAT(check_llama_cpp("gemma3", "llama", "default").detail, HasSubstr("3 of 391"));
  EXPECT_THAT(check_llama_cpp("llama", "llama", "").detail, HasSubstr("8 of 391"));
  EXPECT_THAT(check_llama_cpp("bert", "bert", "").detail, HasSubstr("not compared"));
  EXPECT_THAT(check_llama_cpp("x", "gpt2", "unheard-of").detail, HasSubstr("not compared"));
}

constexpr const char* kList = R"({"object": "list", "data": [{"id": "small", "aliases": ["gpt-4o-mini"]}]})";

// A server that answers at some addresses; whatever else is asked gets no answer.
struct FakeServer {
  std::map<std::string, Reply> replies;
  std::vector<std::string> asked = {};

  Ask ask() {
    return [this](const std::string& url, const std::string&, const std::string&) {
      asked.push_back(url);
      const auto found = replies.find(url);
      return found != replies.end() ? found->second : Reply{.status = 0, .body = {}, .error = "Couldn't connect"};
    };
  }
  Checks check(const Endpoint& endpoint) { return check_server(endpoint, ask()); }
};

Reply with_status(long status) {
  return {.status = status, .body = {}, .error = {}};
}
Reply list() {
  return {.status = 200, .body = kList, .error = {}};
}

TEST(DoctorServer, ARightAddressIsWell) {
  FakeServer server{
      {{"http://127.0.0.1:8080/v1/models", list()}, {"http://127.0.0.1:8080/v1/chat/completions", with_status(200)}}};
  for (const char* model : {"", "small", "gpt-4o-mini"}) {
    const Checks checks = server.check({.url = "http://127.0.0.1:8080/v1", .api_key = "k", .model = model});
    EXPECT_EQ(exit_code(checks), 0);
    EXPECT_THAT(find_check(checks, "models").detail, HasSubstr("small"));
    EXPECT_EQ(find_check(checks, "answer").name == "answer", *model != '\0');
  }
  EXPECT_EQ(
      find_check(server.check({.url = "http://127.0.0.1:8080/v1/", .api_key = {}, .model = {}}), "base_url").status,
      Status::kWarn);
}

TEST(DoctorServer, AKeyThatIsMissingOrWrongIs77) {
  FakeServer server{{{"http://h/v1/models", with_status(401)}}};
  const Checks missing = server.check({.url = "http://h/v1", .api_key = {}, .model = {}});
  EXPECT_EQ(exit_code(missing), 77);
  EXPECT_THAT(find_check(missing, "api_key").fix, HasSubstr("--api-key"));
  const Checks wrong = server.check({.url = "http://h/v1", .api_key = "wrong", .model = {}});
  EXPECT_EQ(exit_code(wrong), 77);
  EXPECT_THAT(find_check(wrong, "api_key").fix, HasSubstr("keys list"));
  server.replies["http://h/v1/models"] = with_status(403);
  EXPECT_EQ(exit_code(server.check({.url = "http://h/v1", .api_key = "scrape", .model = {}})), 77);
}

TEST(DoctorServer, AKeyThatCanBeNoneIsNeitherSentNorShown) {
  for (const char* key : {"secret ", "\"secret\"", "secret\r\nx: y", "Bearer secret"}) {
    FakeServer server{{{"http://h/v1/models", list()}}};
    const Checks checks = server.check({.url = "http://h/v1", .api_key = key, .model = {}});
    EXPECT_EQ(exit_code(checks), 64) << key;
    EXPECT_TRUE(server.asked.empty()) << key;
    for (const Check& check : checks)
      EXPECT_EQ((check.detail + check.fix).find("secret"), std::string::npos) << key;
  }
}

TEST(DoctorServer, AWrongPathIsPutRight) {
  FakeServer server{{{"http://h:1/v1/models", list()},
                     {"http://h:1/models", with_status(404)},
                     {"http://h:1/wrong/models", with_status(404)}}};
  for (const char* url : {"http://h:1", "http://h:1/wrong", "http://h:1/v1/chat/completions", "http://h:1/v1/models"}) {
    const Checks checks = server.check({.url = url, .api_key = {}, .model = {}});
    EXPECT_EQ(exit_code(checks), 64) << url;
    const bool is_right =
        std::ranges::any_of(checks, [](const Check& check) { return check.fix == "base_url=http://h:1/v1"; });
    EXPECT_TRUE(is_right) << url;
  }
  EXPECT_EQ(exit_code(server.check({.url = "h:1/v1", .api_key = {}, .model = {}})), 64);
}

TEST(DoctorServer, TheOtherSchemeIsTriedWhereNothingAnswers) {
  FakeServer server{{{"http://h:9/v1/models", list()}}};
  EXPECT_EQ(find_check(server.check({.url = "https://h:9/v1", .api_key = {}, .model = {}}), "reachable").fix,
            "base_url=http://h:9/v1");
  FakeServer secure{{{"https://h:9/v1/models", with_status(401)}}};
  EXPECT_EQ(find_check(secure.check({.url = "http://h:9/v1", .api_key = {}, .model = {}}), "reachable").fix,
            "base_url=https://h:9/v1");
}

TEST(DoctorServer, UsualPortsAreTriedOnThisMachineOnly) {
  FakeServer server{{{"http://localhost:8080/v1/models", list()}, {"http://other:8080/v1/models", list()}}};
  const Checks here = server.check({.url = "http://localhost:8888/v1", .api_key = {}, .model = {}});
  EXPECT_EQ(exit_code(here), 69);
  EXPECT_EQ(find_check(here, "reachable").fix, "base_url=http://localhost:8080/v1");
  server.asked.clear();
  const Checks there = server.check({.url = "http://other:8888/v1", .api_key = {}, .model = {}});
  EXPECT_EQ(exit_code(there), 69);
  for (const std::string& url : server.asked)
    EXPECT_THAT(url, HasSubstr("//other:8888/"));
}

TEST(DoctorServer, AModelThatIsNotThereIs66) {
  FakeServer server{{{"http://h/v1/models", list()}}};
  const Checks checks = server.check({.url = "http://h/v1", .api_key = {}, .model = "large"});
  EXPECT_EQ(exit_code(checks), 66);
  EXPECT_THAT(find_check(checks, "models").fix, HasSubstr("small, gpt-4o-mini"));
}

TEST(DoctorServer, OtherAnswersAreNamed) {
  FakeServer server{{{"http://h/v1/models", with_status(421)}}};
  EXPECT_EQ(find_check(server.check({.url = "http://h/v1", .api_key = {}, .model = {}}), "host").fix,
            "start it with --allow-host h");
  server.replies["http://h/v1/models"] = with_status(500);
  EXPECT_EQ(exit_code(server.check({.url = "http://h/v1", .api_key = {}, .model = {}})), 69);
  server.replies["http://h/v1/models"] = {.status = 200, .body = "<html>", .error = {}};
  EXPECT_EQ(exit_code(server.check({.url = "http://h/v1", .api_key = {}, .model = {}})), 69);
  server.replies["http://h/v1/models"] = {.status = 200, .body = R"({"data": []})", .error = {}};
  EXPECT_EQ(exit_code(server.check({.url = "http://h/v1", .api_key = {}, .model = {}})), 66);
  server.replies["http://h/v1/models"] = list();
  server.replies["http://h/v1/chat/completions"] = with_status(503);
  EXPECT_EQ(exit_code(server.check({.url = "http://h/v1", .api_key = {}, .model = "small"})), 69);
  server.replies["http://h/v1/chat/completions"] = with_status(429);
  EXPECT_EQ(exit_code(server.check({.url = "http://h/v1", .api_key = {}, .model = "small"})), 0);
}

}  // namespace
}  // namespace vitrine::doctor
