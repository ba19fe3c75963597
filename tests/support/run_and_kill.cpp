#include "support/run_and_kill.h"

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

namespace vitrine::testing {

std::string run_and_kill(const std::function<void(int told_to)>& work, std::chrono::microseconds after) {
  int ends[2] = {};
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    work(ends[1]);
    ::_exit(1);
  }
  ::close(ends[1]);
  std::thread killer([&] {
    std::this_thread::sleep_for(after);
    ::kill(child, SIGKILL);
  });
  std::string told;
  char bytes[4096];
  for (ssize_t got = ::read(ends[0], bytes, sizeof bytes); got > 0; got = ::read(ends[0], bytes, sizeof bytes))
    told.append(bytes, static_cast<std::size_t>(got));
  killer.join();
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";
  return told;
}

}  // namespace vitrine::testing
