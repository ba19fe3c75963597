#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "store/key_json.h"
#include "store/key_store.h"
#include "vitrine/commands/commands.h"
#include "vitrine/output.h"
#include "vitrine/plan_tables.h"
#include "vitrine/state_directory.h"

namespace vitrine::cli {
namespace {

using nlohmann::ordered_json;
using store::KeyInfo;
using store::KeyRole;
using store::NewKey;

// The key alone on stdout, so that a script can take it; it is never shown again.
void print_new(const NewKey& key, const Context& context, const std::string& note) {
  if (context.flags.json) {
    print_json(context, store::to_json(key));
    return;
  }
  context.out.print(key.text + "\n");
  if (!context.flags.quiet) context.err.print(note + "\n");
}

// "--tokens-per-day" for "tokens_per_day".
std::string flag_name(const store::LimitRow& row) {
  std::string name = "--" + std::string(row.name);
  std::ranges::replace(name, '_', '-');
  return name;
}

void print_table_of(const std::vector<KeyInfo>& keys, const Context& context) {
  Table table{{"ID", "NAME", "ROLE", "ENDS IN", "CREATED", "LAST USED", "STATE", "LIMITS"}, {}, {}};
  for (const KeyInfo& key : keys) {
    table.rows.push_back({key.id, key.name, std::string(store::role_name(key.role)), key.last_characters,
                          format_date(key.created_s), format_date(key.last_used_s.value_or(0)),
                          key.revoked_s ? "revoked " + format_date(*key.revoked_s) : "live",
                          describe_limits(key.limits)});
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
        revoke_(parser.add_command("revoke", "End a key for ever, and the answers that are being made for it")),
        limits_(parser.add_command("limits", "Show or change what the owner of a key may use")) {
    create_.add("name", name_, "Whose or what for, for your own use").required();
    create_.add_switch("--admin", is_admin_, "A key that may also use what is for admins");
    create_.add_switch("--scrape", is_scrape_, "A key that may read /metrics and nothing else, for Prometheus");
    rotate_.add("id", id_, "As `vitrine keys list` shows it").required();
    revoke_.add("id", id_, "As `vitrine keys list` shows it").required();
    limits_.add("id", id_, "As `vitrine keys list` shows it").required();
    add_limit_flags(create_);
    add_limit_flags(limits_);
  }

  int run(Context& context) override {
    store::KeyStore keys(required_state_path());
    if (create_.was_given()) create(keys, context);
    if (list_.was_given()) list(keys, context);
    if (rotate_.was_given()) rotate(keys, context);
    if (revoke_.was_given()) revoke(keys, context);
    if (limits_.was_given()) limits(keys, context);
    return 0;
  }

 private:
  void add_limit_flags(const Parser& parser) {
    for (const store::LimitRow& row : store::limit_rows()) {
      const auto take = [this, &row](const std::string& text) {
        changes_.numbers.emplace_back(&row, parse_limit(row, text, flag_name(row)));
      };
      parser.add_function(flag_name(row), take, std::string(row.help) + "; 0 or none removes it").group("Limits");
    }
    parser.add("--models", models_, "Names of the models that it may use, with commas between; all: every one")
        .with_commas()
        .group("Limits");
    parser
        .add("--plan", plan_,
             "A plan of the server's settings, [plans.NAME]: it says every limit that the key has none of its own for; "
             "none: no plan")
        .group("Limits");
  }

  KeyRole role() const {
    if (is_admin_ && is_scrape_)
      throw base::Exception(base::ErrorKind::kUsage, "--admin, --scrape: a key has one role; give one of the two");
    if (is_admin_) return KeyRole::kAdmin;
    return is_scrape_ ? KeyRole::kScrape : KeyRole::kUser;
  }

  store::LimitChanges changes() const {
    store::LimitChanges changes = changes_;
    if (models_ == std::vector<std::string>{"all"}) {
      changes.models.emplace();
    } else if (!models_.empty()) {
      changes.models = models_;
    }
    if (plan_) changes.plan = *plan_ == "none" ? "" : *plan_;
    return changes;
  }

  void create(store::KeyStore& keys, const Context& context) const {
    std::string note = "This is the only time that the key is shown: keep it now. A running server knows it already.";
    const store::LimitChanges limits = changes();
    if (limits.plan && !limits.plan->empty())
      note += fmt::format(
          "\nIts limits are those of [plans.{}] in the server's settings; without that table it is refused.",
          *limits.plan);
    print_new(keys.create(name_, role(), limits), context, note);
  }

  static void list(store::KeyStore& keys, const Context& context) {
    const std::vector<KeyInfo> all = keys.list();
    if (context.flags.json) {
      ordered_json rows = ordered_json::array();
      for (const KeyInfo& key : all)
        rows.push_back(store::to_json(key));
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
      print_json(context, {{"id", key.id}, {"name", key.name}, {"revoked", *key.revoked_s}});
    } else if (!context.flags.quiet) {
      context.err.print(fmt::format("{} ({}) is revoked\n", key.id, printable(key.name)));
    }
  }

  void limits(store::KeyStore& keys, const Context& context) const {
    const store::KeyLimits limits = keys.change_limits(id_, changes());
    if (context.flags.json) return print_json(context, {{"id", id_}, {"limits", store::to_json(limits)}});
    const std::string text = describe_limits(limits);
    context.out.print((text.empty() ? "no limits" : printable(text)) + "\n");
  }

  Parser create_;
  Parser list_;
  Parser rotate_;
  Parser revoke_;
  Parser limits_;
  std::string name_;
  std::string id_;
  bool is_admin_ = false;
  bool is_scrape_ = false;
  store::LimitChanges changes_;
  std::vector<std::string> models_;
  std::optional<std::string> plan_;
};

}  // namespace

std::unique_ptr<Command> make_keys(const Parser& parser) {
  return std::make_unique<KeysCommand>(parser);
}

}  // namespace vitrine::cli
