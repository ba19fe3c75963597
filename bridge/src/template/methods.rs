//! Methods of Python's strings, lists and dicts.

use minijinja::value::{from_args, Value};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat;

/// Called for methods that the engine does not know.
pub fn call(
    state: &mut State,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        if let Some(result) = string_method(text, method, args)? {
            return Ok(result);
        }
    }
    pycompat::unknown_method_callback(state, value, method, args)
}

/// `None` for a method that is left to the compatibility crate.
fn string_method(text: &str, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(args)?;
            Value::from(text.strip_prefix(prefix).unwrap_or(text))
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(args)?;
            Value::from(text.strip_suffix(suffix).unwrap_or(text))
        }
        _ => return Ok(None),
    }))
}

#[allow(dead_code)]
fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
