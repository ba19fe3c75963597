//! The engine as chat templates expect it.

use std::sync::OnceLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, Output, State, UndefinedBehavior};

use super::{factors, filters, guard, methods, python, tags, Limits};

/// A macro call takes this much of the engine's recursion limit: 4 for the call and 2 for its scopes. Each loop around it
/// takes 1 more. The template itself takes less than one call.
const MACRO_COST: usize = 6;

/// An environment without templates.
pub fn new(limits: &Limits) -> Environment<'static> {
    static BASE: OnceLock<Environment<'static>> = OnceLock::new();
    let mut environment = BASE.get_or_init(without_limits).clone(); // shares its filters, tests and functions
    environment.set_fuel(Some(limits.steps));
    environment.set_recursion_limit(limits.depth.saturating_add(1).saturating_mul(MACRO_COST));
    environment
}

fn without_limits() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_syntax(syntax());
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_formatter(print);
    environment.set_unknown_method_callback(methods::call);
    environment.remove_global("debug");
    environment.add_function("raise_exception", filters::raise_exception);
    environment.add_filter("tojson", filters::tojson);
    environment.add_filter("string", filters::string);
    environment.add_filter("pprint", filters::pprint);
    environment.add_filter("indent", filters::indent);
    environment.add_filter("e", filters::escape);
    environment.add_filter("escape", filters::escape);
    environment.add_filter("forceescape", filters::force_escape);
    environment.add_test("sequence", filters::is_sequence);
    environment.add_test("callable", filters::is_callable);
    environment.add_filter("vitrine_engine_format", minijinja::filters::format);
    environment.add_filter("format", filters::format);
    add_lenient_numbers(&mut environment);
    add_guards(&mut environment);
    environment.add_test("iterable", filters::is_iterable);
    environment
}

/// `int` and `float` answer their default for what they cannot read, where the engine fails.
fn add_lenient_numbers(environment: &mut Environment<'static>) {
    for (name, default) in [("int", Value::from(0)), ("float", Value::from(0.0))] {
        let builtin = format!("vitrine_strict_{name}");
        match name {
            "int" => environment.add_filter(builtin.clone(), minijinja::filters::int),
            _ => environment.add_filter(builtin.clone(), minijinja::filters::float),
        }
        environment.add_filter(
            name,
            move |state: &mut State,
                  value: &Value,
                  first: Option<Value>,
                  base: Option<Value>,
                  named: Kwargs| {
                let default = first.or(named.get("default")?).unwrap_or(default.clone());
                let mut arguments = vec![value.clone()];
                if let Some(base) = base.or(named.get("base")?) {
                    arguments.push(Kwargs::from_iter([("base", base)]).into());
                }
                named.assert_all_used()?;
                Ok::<_, Error>(state.apply_filter(&builtin, &arguments).unwrap_or(default))
            },
        );
    }
}

fn add_guards(environment: &mut Environment<'static>) {
    environment.add_filter(tags::ITERABLE, filters::iterable);
    environment.add_filter(factors::FACTOR, filters::factor);
    environment.add_filter(tags::OWN, guard::own);
    environment.add_filter(tags::OWN_MEMBER, guard::own_member);
    environment.add_function(tags::TICK, guard::tick);
    for name in ["namespace", "dict"] {
        let original = environment.globals().find(|(global, _)| *global == name);
        let Some((_, make)) = original else { continue };
        environment.add_function(
            name,
            move |state: &mut State,
                  defaults: Option<Value>,
                  named: Kwargs|
                  -> Result<Value, Error> {
                let mut members = Vec::new();
                if let Some(defaults) = defaults {
                    let defaults = guard::own_member(state, defaults)?;
                    for key in defaults.try_iter()?.checked() {
                        let key = key?;
                        members.push((key.clone(), defaults.get_item(&key)?));
                    }
                }
                for name in named.args() {
                    members.push((
                        Value::from(name),
                        guard::own_member(state, named.get(name)?)?,
                    ));
                }
                make.call(state, &[Value::from_pairs(members)])
            },
        );
    }
}

fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .unwrap_or_default()
}

/// Prints the value of an expression as Python's `str` does.
fn print(output: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Undefined => Ok(()),
        ValueKind::String => Ok(output.write_str(value.as_str().unwrap_or_default())?),
        _ => Ok(output.write_str(&python::to_str(state, value)?)?),
    }
}
