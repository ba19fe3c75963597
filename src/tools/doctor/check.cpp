#include "tools/doctor/check.h"

#include <algorithm>
#include <array>
#include <utility>

namespace vitrine::doctor {
namespace {

// Where an error says none.
const char* usual_fix(base::ErrorKind kind) {
  switch (kind) {
    case base::ErrorKind::kBadFile:
      return "the file is damaged or of an unknown kind: fetch it again, or take another";
    case base::ErrorKind::kNoMemory:
      return "`vitrine plan` shows what fits";
    case base::ErrorKind::kNoPermission:
      return "let this user read it";
    default:
      return "see `vitrine --help`";
  }
}

}  // namespace

std::string_view status_name(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kWarn:
      return "warn";
    case Status::kFail:
      break;
  }
  return "fail";
}

Check ok(std::string name, std::string detail) {
  return {.name = std::move(name), .status = Status::kOk, .detail = std::move(detail)};
}

Check warn(std::string name, std::string detail, std::string fix) {
  return {.name = std::move(name), .status = Status::kWarn, .detail = std::move(detail), .fix = std::move(fix)};
}

Check fail(std::string name, base::ErrorKind kind, std::string detail, std::string fix) {
  return {.name = std::move(name),
          .status = Status::kFail,
          .detail = std::move(detail),
          .fix = std::move(fix),
          .kind = kind};
}

Check fail(std::string name, const base::Error& error) {
  const std::size_t end = error.message.find("; ");
  if (end == std::string::npos) return fail(std::move(name), error.kind, error.message, usual_fix(error.kind));
  return fail(std::move(name), error.kind, error.message.substr(0, end), error.message.substr(end + 2));
}

int exit_code(const std::vector<Check>& checks) {
  using enum base::ErrorKind;
  constexpr std::array kWorstFirst = {kInternal,     kBadFile,     kMissing, kIo,   kNoMemory,
                                      kNoPermission, kUnavailable, kConfig,  kUsage};
  for (const base::ErrorKind kind : kWorstFirst) {
    const auto is_meant = [=](const Check& check) { return check.status == Status::kFail && check.kind == kind; };
    if (std::ranges::any_of(checks, is_meant)) return static_cast<int>(kind);
  }
  return 0;
}

}  // namespace vitrine::doctor
