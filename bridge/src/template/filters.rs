//! Filters and functions of chat templates that the engine lacks or prints in another way.

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::json::{self, Options};
use super::{guard, methods, python, text};

/// `raise_exception(message)`.
pub fn raise_exception(message: &Value) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message.to_string()))
}

/// The engine's `format`, but for keys that it can't read.
pub fn format(
    state: &mut State,
    text: Value,
    args: Rest<Value>,
    named: Kwargs,
) -> Result<Value, Error> {
    methods::check_percent_keys(text.as_str().unwrap_or_default())?;
    let mut all = vec![text];
    all.extend(args.0);
    let values: Vec<(&str, Value)> = named
        .args()
        .map(|name| Ok((name, named.get(name)?)))
        .collect::<Result<_, Error>>()?;
    if !values.is_empty() {
        all.push(Kwargs::from_iter(values).into());
    }
    state.apply_filter("vitrine_engine_format", &all)
}

fn check_iterable(value: &Value) -> Result<(), Error> {
    let type_name = match value.kind() {
        ValueKind::None => "NoneType",
        ValueKind::Bool => "bool",
        ValueKind::Number => "number",
        _ => return Ok(()),
    };
    Err(invalid(format!("'{type_name}' object is not iterable")))
}

/// The value for a loop to iterate, if Python can iterate it: the engine takes none as empty.
pub fn iterable(state: &mut State, value: Value) -> Result<Value, Error> {
    check_iterable(&value)?;
    guard::own(state, value)
}

/// `value is iterable`.
pub fn is_iterable(value: &Value) -> bool {
    check_iterable(value).is_ok()
}

/// A side of a multiplication; see `factors`.
pub fn factor(value: Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            Err(invalid("a list cannot be multiplied; use a loop"))
        }
        _ => Ok(value),
    }
}

/// `value | string`.
pub fn string(state: &State, value: &Value) -> Result<Value, Error> {
    if value.as_str().is_some() {
        return Ok(value.clone());
    }
    python::to_str(state, value).map(Value::from)
}

/// `value | pprint`.
pub fn pprint(state: &State, value: &Value) -> Result<String, Error> {
    match value.as_str() {
        Some(text) => Ok(python::quoted(text)),
        None => python::to_str(state, value),
    }
}

/// `value is sequence`: whatever has a length and takes an index.
pub fn is_sequence(value: &Value) -> bool {
    let has_items = matches!(
        value.kind(),
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map | ValueKind::String
    );
    has_items || value.is_undefined()
}

/// `value is callable`.
pub fn is_callable(value: &Value) -> bool {
    value.kind() == ValueKind::Plain
}

/// `value | escape`.
pub fn escape(state: &State, value: &Value) -> Result<Value, Error> {
    if value.is_safe() {
        return Ok(value.clone());
    }
    force_escape(state, value)
}

/// `value | forceescape`.
pub fn force_escape(state: &State, value: &Value) -> Result<Value, Error> {
    let text = python::to_str(state, value)?;
    Ok(Value::from_safe_string(text::escape_html(&text)))
}

const MAX_INDENT: usize = 64;

/// `text | indent(width=4, first=False, blank=False)`, where width may be a string.
pub fn indent(
    state: &State,
    value: &Value,
    width: Option<Value>,
    first: Option<bool>,
    named: Kwargs,
) -> Result<String, Error> {
    let width = width.or(named.get("width")?).unwrap_or(Value::from(4));
    let first = first.or(named.get("first")?).unwrap_or(false);
    let blank = named.get::<Option<bool>>("blank")?.unwrap_or(false);
    named.assert_all_used()?;
    let subject = python::to_str(state, value)?;
    let indention = indention(&width, "indent")?;
    let num_lines = subject.bytes().filter(|byte| *byte == b'\n').count() + 1;
    state.consume_fuel((num_lines * (1 + indention.len()) / 64) as u64)?;
    Ok(text::indent(&subject, &indention, first, blank))
}

/// A string, or a number of spaces.
fn indention(width: &Value, filter: &str) -> Result<String, Error> {
    let text = match width.as_str() {
        Some(text) => text.to_string(),
        None => " ".repeat(i64::try_from(width.clone())?.clamp(0, 1 + MAX_INDENT as i64) as usize),
    };
    if text.len() > MAX_INDENT {
        return Err(invalid(format!(
            "{filter}: the indention is over {MAX_INDENT} bytes"
        )));
    }
    Ok(text)
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

fn indent_text(indent: &Value) -> Result<Option<String>, Error> {
    match indent.kind() {
        ValueKind::Undefined | ValueKind::None => Ok(None),
        ValueKind::Bool => Ok(Some(" ".repeat(usize::from(indent.is_true())))),
        _ => indention(indent, "tojson").map(Some),
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
