#include "tools/fake_hub.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

extern char** environ;

namespace vitrine::testing {

FakeHub::FakeHub(const std::string& folder) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::string python = "python3";
  std::string script = FAKE_HUB_SCRIPT;
  std::string repositories = folder;
  std::array<char*, 4> words = {python.data(), script.data(), folder.empty() ? nullptr : repositories.data(), nullptr};
  const int code = ::posix_spawnp(&child_, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  stdin_ = in[1];
  if (code != 0) throw std::runtime_error("python3 can't be started");
  std::FILE* stream = ::fdopen(out[0], "r");
  int port = 0;
  const bool told = std::fscanf(stream, "%d", &port) == 1;
  std::fclose(stream);
  if (!told) throw std::runtime_error("fake_hub.py told no port");
  url_ = "http://127.0.0.1:" + std::to_string(port);
}

FakeHub::~FakeHub() {
  ::close(stdin_);
  ::waitpid(child_, nullptr, 0);
}

}  // namespace vitrine::testing
