#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/run_vitrine.h"
#include "support/reference_data.h"
#include "support/temp_dir.h"

namespace vitrine::testing {
namespace {

namespace fs = std::filesystem;

class ServeCommand : public ::testing::Test {
 protected:
  RunResult serve(std::vector<std::string> words) const {
    words.insert(words.begin(), {"serve", "--quiet"});
    return run_vitrine(words, {"VITRINE_STATE=" + state().string()});
  }
  fs::path state() const { return folder_.path() / "state"; }

  TempDir folder_;
};

// A port that something listens on as long as this lives.
class TakenPort {
 public:
  TakenPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, any, size), 0);
    EXPECT_EQ(::listen(socket_, 1), 0);
    EXPECT_EQ(::getsockname(socket_, any, &size), 0);
    number_ = ntohs(address.sin_port);
  }
  ~TakenPort() { ::close(socket_); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;

  std::string number() const { return std::to_string(number_); }

 private:
  int socket_;
  int number_ = 0;
};

TEST_F(ServeCommand, AModelThatIsNotThereIs66) {
  expect_refusal(serve({"/no/such/model.gguf"}), 66, "/no/such/model.gguf");
}

TEST_F(ServeCommand, APortThatIsTakenIs69) {
  const TakenPort port;
  const std::string model = data_path("models/llama").string();
  expect_refusal(serve({model, "--port", port.number()}), 69, "another program listens there");
}

TEST_F(ServeCommand, AWrongFlagIs64) {
  expect_refusal(serve({"--port", "70000"}), 64, "--port");
  expect_refusal(serve({"--no-such-flag"}), 64, "--no-such-flag");
}

TEST_F(ServeCommand, ADatabaseThatMayNotBeReadIs77) {
  ASSERT_EQ(run_vitrine({"keys", "create", "laptop"}, {"VITRINE_STATE=" + state().string()}).exit_code, 0);
  const bool is_root = ::geteuid() == 0;
  fs::permissions(folder_.path(), fs::perms::all);
  fs::permissions(state(), fs::perms::none);
  ASSERT_EQ(is_root ? ::seteuid(65534) : 0, 0);
  RunResult result;
  try {
    result = serve({"/no/such/model.gguf"});
  } catch (const std::exception&) {
    result.exit_code = -1;  // nobody may not even run the program where it lies
  }
  ASSERT_EQ(is_root ? ::seteuid(0) : 0, 0);
  fs::permissions(state(), fs::perms::owner_all);
  if (result.exit_code == -1 || result.exit_code == 127) GTEST_SKIP() << "another user may not run the program";
  expect_refusal(result, 77, "VITRINE_STATE");
}

}  // namespace
}  // namespace vitrine::testing
