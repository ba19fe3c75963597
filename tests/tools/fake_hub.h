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

}  // namespace vitrine::testing
