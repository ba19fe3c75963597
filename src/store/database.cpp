#include "store/database.h"

#include <sqlite3.h>

#include <utility>

#include <fmt/format.h>

#include "base/result.h"

namespace vitrine::store {
namespace {

using base::ErrorKind;

base::Error error_of(sqlite3* database, int code) {
  const char* name = database != nullptr ? sqlite3_db_filename(database, "main") : nullptr;
  const auto error = [&](ErrorKind kind, std::string_view why) {
    return base::Error{kind, fmt::format("{}: {}", name != nullptr ? name : "database", why)};
  };
  switch (code & 0xFF) {  // the rest of the code is a detail of it
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return error(ErrorKind::kIo,
                   "damaged, or no database; restore it from a backup, or move it away (keys.db together with "
                   "keys.pepper) to begin anew");
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return error(ErrorKind::kNoPermission,
                   "can't be written; run as its owner, or set VITRINE_STATE to a folder of yours");
    case SQLITE_FULL:
      return error(ErrorKind::kIo, "the disk is full; free some space");
    case SQLITE_BUSY:
      return error(ErrorKind::kIo, "another program keeps it locked; end that one and try again");
    default:
      return error(ErrorKind::kIo, fmt::format("{}; see whether its disk works",
                                               database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code)));
  }
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3* database, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                      &statement, nullptr);
  statement_.reset(statement);
  if (code != SQLITE_OK) throw base::Exception(error_of(database, code));
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) throw base::Exception(error_of(sqlite3_db_handle(statement_.get()), code));
}

Statement& Statement::bind(int index, std::string_view text) {
  check(sqlite3_bind_text64(statement_.get(), index, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(int index, std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), index, value));
  return *this;
}

Statement& Statement::bind(int index, double value) {
  check(sqlite3_bind_double(statement_.get(), index, value));
  return *this;
}

Statement& Statement::bind_bytes(int index, std::span<const std::uint8_t> bytes) {
  check(sqlite3_bind_blob64(statement_.get(), index, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  base::Error error = error_of(sqlite3_db_handle(statement_.get()), code);
  reset();
  throw base::Exception(std::move(error));
}

int Statement::run() {
  while (step()) {
  }
  const int num_changed = sqlite3_changes(sqlite3_db_handle(statement_.get()));
  reset();
  return num_changed;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

std::string Statement::text(int column) const {
  const auto all = bytes(column);
  return {all.begin(), all.end()};
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::optional<std::int64_t> Statement::integer_or_null(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return integer(column);
}

std::span<const std::uint8_t> Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {static_cast<const std::uint8_t*>(data), static_cast<std::size_t>(size)};
}

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

Database::Database(const std::filesystem::path& path, std::chrono::milliseconds patience) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) throw base::Exception(error_of(database, code));
  sqlite3_busy_timeout(database, static_cast<int>(patience.count()));
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF");
}

std::string Database::path() const {
  return sqlite3_db_filename(database_.get(), "main");
}

Statement Database::prepare(std::string_view sql) const {
  return {database_.get(), sql};
}

void Database::execute(const char* sql) const {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw base::Exception(error_of(database_.get(), code));
}

Transaction::Transaction(const Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!is_open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const base::Exception&) {  // the failure that led here has already ended it
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  is_open_ = false;
}

std::int64_t schema_version(const Database& database) {
  Statement version = database.prepare("PRAGMA user_version");
  version.step();
  return version.integer(0);
}

void upgrade_schema(const Database& database, std::span<const char* const> upgrades) {
  const auto newest = static_cast<std::int64_t>(upgrades.size());
  if (schema_version(database) == newest) return;
  Transaction transaction(database);
  const std::int64_t version = schema_version(database);  // another process may have done it meanwhile
  if (version > newest) {
    throw base::Exception(
        ErrorKind::kIo,
        fmt::format("{}: written by a newer Vitrine; use that one, or another VITRINE_STATE", database.path()));
  }
  for (const char* upgrade : upgrades.subspan(static_cast<std::size_t>(version)))
    database.execute(upgrade);
  database.execute(fmt::format("PRAGMA user_version = {}", newest).c_str());
  transaction.commit();
}

}  // namespace vitrine::store
