#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "server/server_fixture.h"
#include "store/api_key.h"
#include "store/database.h"
#include "store/key_ring.h"
#include "store/key_store.h"
#include "store/usage_file.h"
#include "support/random_seed.h"
#include "support/run_and_kill.h"
#include "support/soak.h"
#include "support/temp_dir.h"

// Endurance: a small number of rounds here, the full one with VITRINE_SOAK=1.
namespace vitrine::server {
namespace {

using Body = nlohmann::json;
using namespace std::chrono_literals;

std::string greedy_post(const std::string& prompt, int max_tokens, const std::string& headers = "",
                        bool streamed = false) {
  const Body body = {
      {"prompt", prompt}, {"max_tokens", max_tokens}, {"temperature", 0}, {"ignore_eos", true}, {"stream", streamed}};
  return post("/v1/completions", body.dump(), headers);
}

// Runs `work(i)` for each i below `count` on that many threads.
template <typename Work>
void spread(int num_threads, int count, Work work) {
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < num_threads; ++t) {
    threads.emplace_back([&] {
      for (int i = next++; i < count; i = next++)
        work(i);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

TEST(Soak, ClientsThatLeaveInQueuePromptOrAnswerGiveTheirBlocksBackWithinASecond) {
  constexpr int kBatch = 50;
  const unsigned seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  engine::EngineConfig config = TestServer::default_engine();
  config.max_sequences = 4;
  config.max_chunk_tokens = 64;
  const TestServer server({}, config);
  std::chrono::duration<double> slowest{0};
  for (int batch = 0; batch < testing::soak_count(150, 3000) / kBatch; ++batch) {
    spread(10, kBatch, [&](int i) {
      std::mt19937 random(seed + static_cast<unsigned>(batch * kBatch + i));
      SocketClient client(server.port());
      client.send(greedy_post(std::string(1 + random() % 3000, 'p'), 1000, "", i % 2 == 0));
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
    });
    const auto began = std::chrono::steady_clock::now();
    ASSERT_TRUE(server.becomes_idle());
    slowest = std::max(slowest, std::chrono::duration<double>(std::chrono::steady_clock::now() - began));
  }
  EXPECT_LT(slowest, 1s);
  RecordProperty("slowest_ms", static_cast<int>(slowest.count() * 1000));
}

TEST(Soak, AQuarterOfTheBlocksAnswersAllWithTheSameBytes) {
  constexpr int kDistinct = 40;
  engine::EngineConfig config = TestServer::default_engine();  // sixteen at once
  const auto request_of = [](int i) {
    const int which = i % kDistinct;
    return greedy_post(std::string(static_cast<std::size_t>(40 + 2 * which), static_cast<char>('a' + which % 26)), 80);
  };
  const auto text = [](const WireAnswer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.status == 200 ? answer.json()["choices"][0]["text"].get<std::string>() : "";
  };
  std::vector<std::string> expected;
  std::size_t block_bytes = 0;
  {
    const TestServer plenty({}, config);
    for (int i = 0; i < kDistinct; ++i)
      expected.push_back(text(ask(plenty.port(), request_of(i))));
    block_bytes = plenty.stats().block_bytes;
  }
  // Sixteen answers of about 160 tokens are 160 blocks.
  config.kv_memory_bytes = 40 * block_bytes;
  const TestServer scarce({}, config);
  spread(16, testing::soak_count(200, 2000), [&](int i) {
    EXPECT_EQ(text(ask(scarce.port(), request_of(i))), expected[static_cast<std::size_t>(i % kDistinct)]) << i;
  });
  EXPECT_GT(scarce.stats().num_preemptions, 0U);
  EXPECT_TRUE(scarce.becomes_idle());
}

void tell(int pipe, const std::string& line) {
  if (::write(pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(1);
}

// Serves, makes and revokes keys and asks with them until it is killed, and says on the pipe what was acknowledged.
[[noreturn]] void serve_and_ask(const std::filesystem::path& folder, int pipe) {
  try {
    store::KeyStore store(folder);
    ServerOptions options;
    options.keys = &store;
    const TestServer server(options);
    for (;;) {
      const store::NewKey key = store.create("kept", store::KeyRole::kUser);
      tell(pipe, "live " + key.text + "\n");
      for (int i = 0; i < 3; ++i) {
        const WireAnswer answer = ask(server.port(), greedy_post("a", 3, bearer(key.text)));
        if (answer.status != 200) throw std::runtime_error(fmt::format("{}: {}", answer.status, answer.body));
        const std::size_t at = answer.head.find("x-request-id: ") + 14;
        tell(pipe, "used " + answer.head.substr(at, answer.head.find("\r\n", at) - at) + "\n");
      }
      tell(pipe, "any " + key.text + "\n");  // its end may come before it is told
      store.revoke(key.info.id);
      tell(pipe, "dead " + key.text + "\n");
    }
  } catch (const std::exception& exception) {
    fmt::print(stderr, "the child: {}\n", exception.what());
    ::_exit(1);
  }
}

bool is_in_ledger(const std::filesystem::path& folder, const std::string& request_id) {
  const store::Database database = store::open_usage_file(folder, std::chrono::seconds(5));
  store::Statement find = database.prepare("SELECT count(*) FROM usage WHERE request_id = ?");
  find.bind(1, request_id).step();
  return find.integer(0) == 1;
}

TEST(Soak, AKilledServerHasLostNothingThatItAcknowledgedAndStartsAgain) {
  const unsigned seed = testing::random_seed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const testing::TempDir temp;
  const std::filesystem::path folder = temp.path() / "state";
  std::map<std::string, std::string> fates;  // of each key and each request, as told last
  for (int round = 0; round < testing::soak_count(10, 200); ++round) {
    std::string told = testing::run_and_kill([&](int told_to) { serve_and_ask(folder, told_to); },
                                             std::chrono::microseconds(random() % 150'000));
    told.resize(told.rfind('\n') + 1);
    std::istringstream lines(told);
    for (std::string fate, name; lines >> fate >> name;)
      fates[name] = fate;
    store::KeyStore store(folder);
    store::KeyRing ring(store);
    for (const auto& [name, fate] : fates) {
      if (fate == "any") continue;
      if (fate == "used") {
        EXPECT_TRUE(is_in_ledger(folder, name)) << "round " << round;
      } else {
        const auto verdict = ring.check(store::parse_api_key(name).value_or_throw()).verdict;
        EXPECT_EQ(verdict == store::KeyVerdict::kValid, fate == "live") << "round " << round << ", " << fate;
      }
    }
    std::erase_if(fates, [](const auto& item) { return item.second == "used"; });
  }
  store::KeyStore store(folder);
  const std::string key = store.create("after", store::KeyRole::kUser).text;
  ServerOptions options;
  options.keys = &store;
  const TestServer server(options);
  EXPECT_EQ(ask(server.port(), greedy_post("a", 3, bearer(key))).status, 200);
}

}  // namespace
}  // namespace vitrine::server
