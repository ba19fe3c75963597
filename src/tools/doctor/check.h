#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vitrine::doctor {

enum class Status { kOk, kWarn, kFail };
std::string_view status_name(Status status);  // "ok", "warn", "fail"

// One thing that was looked at.
struct Check {
  std::string name;  // "huge_pages"
  Status status = Status::kOk;
  std::string detail;                                 // what was found, in one line
  std::string fix = {};                               // what to do, exactly; empty where nothing is to be done
  base::ErrorKind kind = base::ErrorKind::kInternal;  // of a failed one
};

Check ok(std::string name, std::string detail);
Check warn(std::string name, std::string detail, std::string fix);
Check fail(std::string name, base::ErrorKind kind, std::string detail, std::string fix);
// Of an error in the form WHAT: WHY; FIX.
Check fail(std::string name, const base::Error& error);

// 0 where nothing failed, else the exit code of the worst: a fault of ours, then a file, then what is missing, memory,
// permission, the network, the configuration.
int exit_code(const std::vector<Check>& checks);

}  // namespace vitrine::doctor
