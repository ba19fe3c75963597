//! Methods of Python's strings, lists and dicts. What stands here is missing in the compatibility crate or differs from
//! Python there; the rest is left to that crate.

use minijinja::value::{from_args, Kwargs, Tuple, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat;

use super::guard;
use super::text::{self, Side};

/// A method call must pay for the text that it reads.
const BYTES_PER_STEP: usize = 64;

/// Every piece of a split text becomes a value of its own.
const SPLIT_BYTES_PER_STEP: usize = 8;

/// Called for methods that the engine does not know.
pub fn call(
    state: &mut State,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    guard::tick(state)?;
    let special = match value.kind() {
        ValueKind::String => {
            let subject = value.as_str().unwrap_or_default();
            pay(state, subject, method)?;
            string_method(subject, method, args)?
        }
        ValueKind::Seq | ValueKind::Iterable => sequence_method(state, value, method, args)?,
        ValueKind::Map if method == "copy" => {
            let () = from_args(args)?;
            Some(value.clone())
        }
        _ => None,
    };
    match special {
        Some(result) => Ok(result),
        None => pycompat::unknown_method_callback(state, value, method, args),
    }
}

fn pay(state: &State, subject: &str, method: &str) -> Result<(), Error> {
    let unit = match method {
        "split" | "rsplit" | "splitlines" => SPLIT_BYTES_PER_STEP,
        _ => BYTES_PER_STEP,
    };
    state.consume_fuel((subject.len() / unit) as u64)
}

/// `None` for a method that is left to the compatibility crate.
fn string_method(subject: &str, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "split" | "rsplit" => return split(subject, args, side_of(method)).map(Some),
        "strip" | "lstrip" | "rstrip" => {
            let (chars,): (Option<Value>,) = from_args(args)?;
            Value::from(strip(subject, chars, method)?)
        }
        "partition" | "rpartition" => {
            let (separator,): (&str,) = from_args(args)?;
            let parts = text::partition(subject, non_empty(separator)?, side_of(method));
            Value::from(Tuple::from(parts.map(Value::from)))
        }
        "find" | "rfind" | "index" | "rindex" => Value::from(find(subject, method, args)?),
        "startswith" | "endswith" if args.len() > 1 => {
            let (affix, start, end): (Value, i64, Option<i64>) = from_args(args)?;
            let part = text::slice(subject, Some(start), end).1;
            Value::from(has_affix(part, &affix, side_of_affix(method))?)
        }
        "ljust" | "rjust" | "center" | "zfill" => Value::from(pad(subject, method, args)?),
        "removeprefix" | "removesuffix" => {
            let (affix,): (&str,) = from_args(args)?;
            let rest = match side_of_affix(method) {
                Side::Left => subject.strip_prefix(affix),
                Side::Right => subject.strip_suffix(affix),
            };
            Value::from(rest.unwrap_or(subject))
        }
        "splitlines" => {
            let (keep_ends,): (Option<bool>,) = from_args(args)?;
            text::split_lines(subject, keep_ends.unwrap_or(false))
                .into_iter()
                .map(Value::from)
                .collect()
        }
        "join" => {
            let (items,): (Value,) = from_args(args)?;
            check_strings(&items)?;
            return Ok(None);
        }
        "format" => {
            check_format(subject)?;
            return Ok(None);
        }
        "title" => without_arguments(args, text::title(subject).into())?,
        "swapcase" => without_arguments(args, text::swap_case(subject).into())?,
        "casefold" => without_arguments(args, subject.replace('ß', "ss").to_lowercase().into())?,
        "isdecimal" => {
            let decimal =
                !subject.is_empty() && subject.chars().all(|letter| letter.is_ascii_digit());
            without_arguments(args, decimal.into())?
        }
        _ => return Ok(None),
    }))
}

fn without_arguments(args: &[Value], result: Value) -> Result<Value, Error> {
    let () = from_args(args)?;
    Ok(result)
}

fn side_of(method: &str) -> Side {
    if method.starts_with('r') {
        Side::Right
    } else {
        Side::Left
    }
}

fn side_of_affix(method: &str) -> Side {
    match method {
        "startswith" | "removeprefix" => Side::Left,
        _ => Side::Right,
    }
}

fn non_empty(separator: &str) -> Result<&str, Error> {
    if separator.is_empty() {
        return Err(invalid("empty separator"));
    }
    Ok(separator)
}

fn split(subject: &str, args: &[Value], side: Side) -> Result<Value, Error> {
    let (separator, limit, named): (Option<Value>, Option<i64>, Kwargs) = from_args(args)?;
    let separator = separator
        .or(named.get("sep")?)
        .filter(|value| !value.is_none());
    let limit = limit.or(named.get("maxsplit")?);
    named.assert_all_used()?;
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let parts = match &separator {
        None => text::split_whitespace(subject, limit, side),
        Some(separator) => {
            let separator = separator
                .as_str()
                .ok_or_else(|| invalid("split: sep must be a string"))?;
            text::split(subject, non_empty(separator)?, limit, side)
        }
    };
    Ok(parts.into_iter().map(Value::from).collect())
}

fn strip<'a>(subject: &'a str, chars: Option<Value>, method: &str) -> Result<&'a str, Error> {
    let chars: Option<Vec<char>> = match chars.filter(|value| !value.is_none()) {
        None => None,
        Some(value) => Some(
            value
                .as_str()
                .ok_or_else(|| invalid("strip: chars must be a string"))?
                .chars()
                .collect(),
        ),
    };
    let strips = |letter: char| match &chars {
        Some(chars) => chars.contains(&letter),
        None => text::is_whitespace(letter),
    };
    Ok(match method {
        "lstrip" => subject.trim_start_matches(strips),
        "rstrip" => subject.trim_end_matches(strips),
        _ => subject.trim_matches(strips),
    })
}

/// Counts in characters, -1 where there is nothing to find; an error for `index` and `rindex`.
fn find(subject: &str, method: &str, args: &[Value]) -> Result<i64, Error> {
    let (what, start, end): (&str, Option<i64>, Option<i64>) = from_args(args)?;
    let (offset, part) = text::slice(subject, start, end);
    let place = match side_of(method) {
        Side::Left => part.find(what),
        Side::Right => part.rfind(what),
    };
    match place {
        Some(place) => Ok((offset + part[..place].chars().count()) as i64),
        None if method.ends_with("index") => Err(invalid("substring not found")),
        None => Ok(-1),
    }
}

fn has_affix(subject: &str, affix: &Value, side: Side) -> Result<bool, Error> {
    if let Some(affix) = affix.as_str() {
        return Ok(match side {
            Side::Left => subject.starts_with(affix),
            Side::Right => subject.ends_with(affix),
        });
    }
    for one in affix.try_iter()?.checked() {
        let one = one?;
        if one.as_str().is_some() && has_affix(subject, &one, side)? {
            return Ok(true);
        }
    }
    Ok(false)
}

const MAX_WIDTH: i64 = 10_000;

fn pad(subject: &str, method: &str, args: &[Value]) -> Result<String, Error> {
    let (width, fill): (i64, Option<char>) = from_args(args)?;
    if width > MAX_WIDTH {
        return Err(invalid(format!("{method}: width is over {MAX_WIDTH}")));
    }
    let missing = usize::try_from(width)
        .unwrap_or(0)
        .saturating_sub(subject.chars().count());
    let fill = |count: usize| String::from_iter(std::iter::repeat_n(fill.unwrap_or(' '), count));
    Ok(match method {
        "ljust" => subject.to_string() + &fill(missing),
        "rjust" => fill(missing) + subject,
        "zfill" => text::zero_fill(subject, missing),
        _ => {
            // Python puts the odd character on the left where the width is odd.
            let left = missing / 2 + (missing & width as usize & 1);
            fill(left) + subject + &fill(missing - left)
        }
    })
}

fn check_strings(items: &Value) -> Result<(), Error> {
    for (index, item) in items.try_iter()?.checked().enumerate() {
        if item?.as_str().is_none() {
            return Err(invalid(format!("join: item {index} is not a string")));
        }
    }
    Ok(())
}

/// Refuses widths and precisions of four digits and more, which would make text out of nothing.
fn check_format(subject: &str) -> Result<(), Error> {
    let digits = subject
        .as_bytes()
        .windows(4)
        .any(|window| window.iter().all(u8::is_ascii_digit));
    if digits && subject.contains(':') {
        return Err(invalid(
            "format: a number of four digits or more in the format",
        ));
    }
    check_format_keys(subject)
}

/// Refuses keys (`{0[key]}`) that are not ASCII, which the engine cuts inside a character.
fn check_format_keys(subject: &str) -> Result<(), Error> {
    let mut rest = subject;
    while let Some(at) = rest.find('{') {
        rest = &rest[at + 1..];
        if let Some(escaped) = rest.strip_prefix('{') {
            rest = escaped;
            continue;
        }
        while let Some(at) = rest.find(['[', '}']) {
            let is_key = rest[at..].starts_with('[');
            rest = &rest[at + 1..];
            if !is_key {
                break;
            }
            let key = rest.split(']').next().unwrap_or_default();
            if !key.is_ascii() {
                return Err(invalid("format: keys in the format must be ASCII"));
            }
            rest = &rest[key.len()..];
        }
    }
    Ok(())
}

/// The same for keys of the `format` filter: `%(key)s`.
pub fn check_percent_keys(subject: &str) -> Result<(), Error> {
    let mut rest = subject;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        if let Some(escaped) = rest.strip_prefix('%') {
            rest = escaped;
        } else if let Some(key) = rest.strip_prefix('(') {
            if !key.split(')').next().unwrap_or_default().is_ascii() {
                return Err(invalid("format: keys in the format must be ASCII"));
            }
        }
    }
    Ok(())
}

fn sequence_method(
    state: &mut State,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Option<Value>, Error> {
    match method {
        "copy" => without_arguments(args, value.clone()).map(Some),
        "index" => {
            let (wanted,): (Value,) = from_args(args)?;
            for (index, item) in value.try_iter()?.checked().enumerate() {
                guard::pay_item(state)?;
                if item? == wanted {
                    return Ok(Some(Value::from(index)));
                }
            }
            Err(invalid("index: the value is not in the list"))
        }
        _ => Ok(None),
    }
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
