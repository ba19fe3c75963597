#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "store/key_store.h"
#include "vitrine/commands/commands.h"
#include "vitrine/output.h"
#include "vitrine/state_directory.h"

namespace vitrine::cli {
namespace {

using nlohmann::ordered_json;
using store::KeyInfo;
using store::KeyRole;
using store::NewKey;

ordered_json or_null(const std::optional<std::int64_t>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json key_json(const KeyInfo& key) {
  return {{"id", key.id},
          {"name", key.name},
          {"admin", key.role == KeyRole::kAdmin},
          {"last_characters", key.last_characters},
          {"created", key.created_s},
          {"last_used", or_null(key.last_used_s)},
          {"revoked", or_null(key.revoked_s)},
          {"limits", ordered_json::object()}};
}

// The key alone on stdout, so that a script can take it; it is never shown again.
void print_new(const NewKey& key, const Context& context, const std::string& note) {
  if (context.flags.json) {
    print_json(
        context,
        {{"id", key.info.id}, {"name", key.info.name}, {"admin", key.info.role == KeyRole::kAdmin}, {"key", key.text}});
    return;
  }
  context.out.print(key.text + "\n");
  if (!context.flags.quiet) context.err.print(note + "\n");
}

void print_table_of(const std::vector<KeyInfo>& keys, const Context& context) {
  Table table{{"ID", "NAME", "ROLE", "ENDS IN", "CREATED", "LAST USED", "STATE"}, {}, {}};
  for (const KeyInfo& key : keys) {
    table.rows.push_back({key.id, key.name, key.role == KeyRole::kAdmin ? "admin" : "user", key.last_characters,
                          format_date(key.created_s), format_date(key.last_used_s.value_or(0)),
                          key.revoked_s ? "revoked " + format_date(*key.revoked_s) : "live"});
  }
  print_table(context.out, table);
}

// Every subcommand has its words in here; all work on the same store.
class KeysCommand final : public Command {
 public:
  explicit KeysCommand(const Parser& parser)
      : create_(parser.add_command("create", "Make a key; it is shown this once")),
        list_(parser.add_command("list", "List the keys, without their secrets")),
        rotate_(parser.add_command("rotate", "Give a key a new secret; the old one ends at once")),
        revoke_(parser.add_command("revoke", "End a key for ever, and the answers that are being made for it")) {
    create_.add("name", name_, "Whose or what for, for your own use").required();
    create_.add_switch("--admin", is_admin_, "A key that may also use what is for admins");
    rotate_.add("id", id_, "As `vitrine keys list` shows it").required();
    revoke_.add("id", id_, "As `vitrine keys list` shows it").required();
  }

  int run(Context& context) override {
    store::KeyStore keys(required_state_path());
    if (create_.was_given()) create(keys, context);
    if (list_.was_given()) list(keys, context);
    if (rotate_.was_given()) rotate(keys, context);
    if (revoke_.was_given()) revoke(keys, context);
    return 0;
  }

 private:
  void create(store::KeyStore& keys, const Context& context) const {
    print_new(keys.create(name_, is_admin_ ? KeyRole::kAdmin : KeyRole::kUser), context,
              "This is the only time that the key is shown: keep it now. A running server knows it already.");
  }

  static void list(store::KeyStore& keys, const Context& context) {
    const std::vector<KeyInfo> all = keys.list();
    if (context.flags.json) {
      ordered_json rows = ordered_json::array();
      for (const KeyInfo& key : all)
        rows.push_back(key_json(key));
      print_json(context, {{"keys", rows}});
    } else if (context.flags.quiet) {
      for (const KeyInfo& key : all)
        context.out.print(key.id + "\n");
    } else if (all.empty()) {
      context.err.print("no keys yet; `vitrine keys create NAME` makes one\n");
    } else {
      print_table_of(all, context);
    }
  }

  void rotate(store::KeyStore& keys, const Context& context) const {
    print_new(keys.rotate(id_), context,
              "The old secret is dead. This is the only time that the new key is shown: keep it now.");
  }

  void revoke(store::KeyStore& keys, const Context& context) const {
    const KeyInfo key = keys.revoke(id_);
    if (context.flags.json) {
      print_json(context, {{"id", key.id}, {"name", key.name}, {"revoked", or_null(key.revoked_s)}});
    } else if (!context.flags.quiet) {
      context.err.print(fmt::format("{} ({}) is revoked\n", key.id, printable(key.name)));
    }
  }

  Parser create_;
  Parser list_;
  Parser rotate_;
  Parser revoke_;
  std::string name_;
  std::string id_;
  bool is_admin_ = false;
};

}  // namespace

std::unique_ptr<Command> make_keys(const Parser& parser) {
  return std::make_unique<KeysCommand>(parser);
}

}  // namespace vitrine::cli
