//! The engine as chat templates expect it.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, Output, State, UndefinedBehavior};

use super::{filters, methods, python, source, Limits};

/// The engine charges this much of its recursion limit for one macro call.
const MACRO_COST: usize = 4;

/// An environment without templates.
pub fn new(limits: &Limits) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_syntax(syntax());
    environment.set_fuel(Some(limits.steps));
    environment.set_recursion_limit(limits.depth.saturating_mul(MACRO_COST));
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_formatter(print);
    environment.set_unknown_method_callback(methods::call);
    environment.remove_global("debug");
    environment.add_function("raise_exception", filters::raise_exception);
    environment.add_filter("tojson", filters::tojson);
    environment.add_filter("string", filters::string);
    environment.add_filter(source::ITERABLE, filters::iterable);
    environment.add_test("iterable", filters::is_iterable);
    environment
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
