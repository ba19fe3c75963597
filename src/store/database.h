#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace vitrine::store {

// How long to wait for a database that another process writes to: where one person waits, and where all clients do.
inline constexpr std::chrono::milliseconds kPatience{5000};
inline constexpr std::chrono::milliseconds kServingPatience{250};

// A prepared statement. Values only ever come in by binding them, numbered from 1; columns are numbered from 0. Throws
// base::Exception with the file's name: kIo, kNoPermission.
class Statement {
 public:
  Statement& bind(int index, std::string_view text);
  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, double value);
  Statement& bind_bytes(int index, std::span<const std::uint8_t> bytes);

  // True while there is a row.
  bool step();
  // Runs to the end, for what has no rows to give. Answers how many rows it changed.
  int run();
  // Begins anew; what was bound stays.
  void reset();

  std::string text(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::optional<std::int64_t> integer_or_null(int column) const;
  std::span<const std::uint8_t> bytes(int column) const;  // until the next step

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3* database, std::string_view sql);

  void check(int code) const;

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// A connection to an SQLite file. The file must be there. Not for several threads at once.
class Database {
 public:
  // `patience`: how long to wait for another process that writes. Throws base::Exception.
  Database(const std::filesystem::path& path, std::chrono::milliseconds patience);

  std::string path() const;
  Statement prepare(std::string_view sql) const;
  // Several statements of our own, without values.
  void execute(const char* sql) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };

  std::unique_ptr<sqlite3, Close> database_;
};

// Changes that are made together or not at all: dropped unless commit() returned. Takes the lock for writing at once.
class Transaction {
 public:
  explicit Transaction(const Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // What was changed is on the disk when this returns.
  void commit();

 private:
  const Database& database_;
  bool is_open_ = true;
};

// 0: no tables yet.
std::int64_t schema_version(const Database& database);

// Brings the tables to the newest version, whichever they are of: `upgrades[i]` makes version i + 1 out of version i. A
// new version is a row more; rows never change. Throws base::Exception (kIo) where the file is of a version after that.
void upgrade_schema(const Database& database, std::span<const char* const> upgrades);

}  // namespace vitrine::store
