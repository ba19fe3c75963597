#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>

namespace vitrine::testing {

// fake_hub.py as a child process, for as long as the object lives. `folder` holds further repositories, ORG/REPO.
class FakeHub {
 public:
  explicit FakeHub(const std::string& folder = "");
  ~FakeHub();
  FakeHub(const FakeHub&) = delete;
  FakeHub& operator=(const FakeHub&) = delete;

  const std::string& url() const { return url_; }

 private:
  pid_t child_ = 0;
  int stdin_ = -1;  // closing it ends the child
  std::string url_;
};

// A directory that is removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace vitrine::testing
