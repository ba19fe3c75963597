#include "cli/run_vitrine.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/reference_data.h"

extern char** environ;

namespace vitrine::testing {
namespace {

std::string temporary_file() {
  std::string path = std::filesystem::temp_directory_path() / "vitrine-out-XXXXXX";
  const int descriptor = ::mkstemp(path.data());
  if (descriptor < 0) throw std::runtime_error("mkstemp");
  ::close(descriptor);
  return path;
}

std::string take_text(const std::string& path) {
  std::string text = read_file(path);
  ::unlink(path.c_str());
  return text;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words)
    list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace

RunResult run_vitrine(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  const std::string out = temporary_file();
  const std::string err = temporary_file();
  std::vector<std::string> command = {VITRINE_BINARY};
  command.insert(command.end(), words.begin(), words.end());
  std::vector<std::string> variables = environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY, 0);
  auto arguments = pointers(command);
  auto settings = pointers(variables);
  pid_t child = 0;
  const auto begin = std::chrono::steady_clock::now();
  if (::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), settings.data()) != 0) {
    throw std::runtime_error("the program can't be started");
  }
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  RunResult result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  result.out = take_text(out);
  result.err = take_text(err);
  return result;
}

void expect_refusal(const RunResult& result, int exit_code, const std::string& text) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.err, ::testing::HasSubstr(text));
}

}  // namespace vitrine::testing
