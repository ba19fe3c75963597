#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace vitrine::base {

// Who has to act on an error. The value is the exit code of the process (sysexits.h).
enum class ErrorKind {
  kUsage = 64,         // a flag, a parameter or a request is wrong
  kBadFile = 65,       // a file is truncated, corrupt, lying or of an unknown kind
  kMissing = 66,       // a file or a model is not there
  kUnavailable = 69,   // a port or a remote service is not to be had
  kInternal = 70,      // our own fault
  kIo = 74,            // the disk or a database failed
  kNoMemory = 75,      // not enough memory now
  kNoPermission = 77,  // the operating system refused
  kConfig = 78,        // the configuration contradicts itself
  kInterrupted = 130,  // the user pressed Ctrl-C
};

// An error as a person reads it: "WHAT: WHY; FIX" on one line, naming the field and the limit.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;
};

// Thrown for a broken file or setting at start-up only; caught in main, which prints the message and exits with the
// kind.
class Exception : public std::runtime_error {
 public:
  explicit Exception(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}
  Exception(ErrorKind kind, std::string message) : Exception(Error{kind, std::move(message)}) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

// A value or an Error, with the member names of std::expected (C++23), by which it can be replaced later.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

  // The value, or its error as an Exception: for start-up code whose caller is main.
  T value_or_throw() && {
    if (!has_value()) throw Exception(std::move(*this).error());
    return std::get<0>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }
  void value_or_throw() && {
    if (error_) throw Exception(std::move(*error_));
  }

 private:
  std::optional<Error> error_;
};

inline Error bad_file(std::string message) {
  return {ErrorKind::kBadFile, std::move(message)};
}
inline Error usage_error(std::string message) {
  return {ErrorKind::kUsage, std::move(message)};
}

}  // namespace vitrine::base
