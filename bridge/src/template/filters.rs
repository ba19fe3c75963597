//! Filters and functions of chat templates that the engine lacks or prints in another way.

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::json::{self, Options};
use super::python;

/// `raise_exception(message)`.
pub fn raise_exception(message: &Value) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message.to_string()))
}

/// The value, if Python can iterate it.
pub fn iterable(value: Value) -> Result<Value, Error> {
    let type_name = match value.kind() {
        ValueKind::None => "NoneType",
        ValueKind::Bool => "bool",
        ValueKind::Number => "number",
        _ => return Ok(value),
    };
    Err(invalid(format!("'{type_name}' object is not iterable")))
}

/// `value is iterable`.
pub fn is_iterable(value: Value) -> bool {
    iterable(value).is_ok()
}

/// `value | string`.
pub fn string(state: &State, value: &Value) -> Result<Value, Error> {
    if value.as_str().is_some() {
        return Ok(value.clone());
    }
    python::to_str(state, value).map(Value::from)
}

/// `value | tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`, without HTML escapes.
/// The last two are known by name only.
pub fn tojson(
    state: &State,
    value: &Value,
    ensure_ascii: Option<Value>,
    indent: Option<Value>,
    named: Kwargs,
) -> Result<String, Error> {
    let argument = |given: Option<Value>, name: &str| match given {
        Some(value) => Ok(value),
        None => named
            .get::<Option<Value>>(name)
            .map(Option::unwrap_or_default),
    };
    let ensure_ascii = argument(ensure_ascii, "ensure_ascii")?.is_true();
    let indent = indent_text(&argument(indent, "indent")?)?;
    let separators = argument(None, "separators")?;
    let sort_keys = argument(None, "sort_keys")?.is_true();
    named.assert_all_used()?;
    let (item_separator, key_separator) = separator_texts(&separators, indent.is_some())?;
    let options = Options {
        ensure_ascii,
        indent,
        item_separator,
        key_separator,
        sort_keys,
    };
    json::dumps(state, value, &options)
}

const MAX_INDENT: usize = 64;

fn indent_text(indent: &Value) -> Result<Option<String>, Error> {
    match indent.kind() {
        ValueKind::Undefined | ValueKind::None => Ok(None),
        ValueKind::String => Ok(Some(indent.to_string())),
        ValueKind::Bool => Ok(Some(" ".repeat(usize::from(indent.is_true())))),
        _ => {
            let width = i64::try_from(indent.clone())?.max(0) as usize;
            if width > MAX_INDENT {
                return Err(invalid(format!("tojson: indent is over {MAX_INDENT}")));
            }
            Ok(Some(" ".repeat(width)))
        }
    }
}

fn separator_texts(separators: &Value, indented: bool) -> Result<(String, String), Error> {
    if separators.is_undefined() || separators.is_none() {
        let item = if indented { "," } else { ", " };
        return Ok((item.to_string(), ": ".to_string()));
    }
    let texts: Vec<Value> = separators.try_iter()?.collect();
    match texts.as_slice() {
        [item, key] => Ok((item.to_string(), key.to_string())),
        _ => Err(invalid("tojson: separators must be two strings")),
    }
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
