//! How Python prints values: `str()` and `repr()`.

use std::fmt::Write;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

/// Containers deeper than this are refused instead of printed; it also ends values that contain themselves.
pub const MAX_DEPTH: usize = 64;

/// Text that grows while the render pays for it: shared parts of a value may print exponentially often.
pub struct PaidText<'a, 'b, 'c> {
    state: &'a State<'b, 'c>,
    text: String,
    paid_bytes: usize,
}

const BYTES_PER_STEP: usize = 64;

impl<'a, 'b, 'c> PaidText<'a, 'b, 'c> {
    /// An empty text.
    pub fn new(state: &'a State<'b, 'c>) -> Self {
        PaidText {
            state,
            text: String::new(),
            paid_bytes: 0,
        }
    }

    /// Appends, and pays once a step's worth of bytes has come together.
    pub fn push(&mut self, piece: &str) -> Result<(), Error> {
        self.text.push_str(piece);
        let unpaid = self.text.len() - self.paid_bytes;
        if unpaid < BYTES_PER_STEP {
            return Ok(());
        }
        self.paid_bytes = self.text.len();
        self.state.consume_fuel((unpaid / BYTES_PER_STEP) as u64)
    }

    /// The whole text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Fails for containers inside too many others.
pub fn check_depth(depth: usize) -> Result<(), Error> {
    if depth < MAX_DEPTH {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::OutOfFuel,
        format!("a value is nested deeper than {MAX_DEPTH} levels"),
    ))
}

/// `str(value)`.
pub fn to_str(state: &State, value: &Value) -> Result<String, Error> {
    match value.as_str() {
        Some(text) => Ok(text.to_string()),
        None if value.is_undefined() => Ok(String::new()),
        None => {
            let mut text = PaidText::new(state);
            write_repr(&mut text, value, 0)?;
            Ok(text.finish())
        }
    }
}

/// Appends `repr(value)`.
fn write_repr(text: &mut PaidText, value: &Value, depth: usize) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Undefined => text.push("Undefined"),
        ValueKind::None => text.push("None"),
        ValueKind::String => text.push(&quoted(value.as_str().unwrap_or_default())),
        ValueKind::Number => text.push(&number(value)),
        ValueKind::Seq | ValueKind::Iterable => write_sequence(text, value, depth),
        ValueKind::Map => write_map(text, value, depth),
        _ => text.push(&value.to_string()),
    }
}

fn write_sequence(text: &mut PaidText, value: &Value, depth: usize) -> Result<(), Error> {
    check_depth(depth)?;
    let (open, close) = if value.is_tuple() {
        ("(", ")")
    } else {
        ("[", "]")
    };
    text.push(open)?;
    let mut count = 0;
    for item in value.try_iter()?.checked() {
        if count > 0 {
            text.push(", ")?;
        }
        write_repr(text, &item?, depth + 1)?;
        count += 1;
    }
    if value.is_tuple() && count == 1 {
        text.push(",")?;
    }
    text.push(close)
}

fn write_map(text: &mut PaidText, value: &Value, depth: usize) -> Result<(), Error> {
    check_depth(depth)?;
    text.push("{")?;
    for (index, key) in value.try_iter()?.checked().enumerate() {
        let key = key?;
        if index > 0 {
            text.push(", ")?;
        }
        write_repr(text, &key, depth + 1)?;
        text.push(": ")?;
        write_repr(text, &value.get_item(&key)?, depth + 1)?;
    }
    text.push("}")
}

/// `repr` of an int or a float.
pub fn number(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    match f64::try_from(value.clone()) {
        Ok(float) => float_repr(float),
        Err(_) => value.to_string(),
    }
}

/// `repr` of a float: the shortest digits that read back, positional for exponents -4 to 15.
fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_string();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{value}");
        let dot = if plain.contains('.') { "" } else { ".0" };
        return plain + dot;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// `repr` of a string.
pub fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push(quote);
    for letter in text.chars() {
        push_escaped(&mut quoted, letter, quote);
    }
    quoted.push(quote);
    quoted
}

fn push_escaped(quoted: &mut String, letter: char, quote: char) {
    match letter {
        '\\' => quoted.push_str("\\\\"),
        '\n' => quoted.push_str("\\n"),
        '\r' => quoted.push_str("\\r"),
        '\t' => quoted.push_str("\\t"),
        _ if letter == quote => {
            quoted.push('\\');
            quoted.push(letter);
        }
        _ if is_printable(letter) => quoted.push(letter),
        _ => {
            let code = u32::from(letter);
            let _ = match code {
                0..=0xFF => write!(quoted, "\\x{code:02x}"),
                0x100..=0xFFFF => write!(quoted, "\\u{code:04x}"),
                _ => write!(quoted, "\\U{code:08x}"),
            };
        }
    }
}

/// `str.isprintable` of one character. Rust's debug escape of a string follows the same rule for all but the first character
/// (which it also escapes if it is a combining mark) and the quotes.
fn is_printable(letter: char) -> bool {
    if letter.is_ascii() {
        return !letter.is_ascii_control();
    }
    let mut buffer = [b'a'; 5];
    let length = letter.encode_utf8(&mut buffer[1..]).len();
    let pair = std::str::from_utf8(&buffer[..=length]).unwrap_or_default();
    pair.escape_debug().eq(pair.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_python() {
        for (value, text) in [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (-0.0, "-0.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(float_repr(value), text);
        }
    }

    #[test]
    fn strings_are_quoted_as_in_python() {
        assert_eq!(quoted("it's"), "\"it's\"");
        assert_eq!(quoted("it's \"x\""), "'it\\'s \"x\"'");
        assert_eq!(
            quoted("a\n\\\u{7f}\u{a0}e\u{301}\u{200b}\u{e000}"),
            "'a\\n\\\\\\x7f\\xa0e\u{301}\\u200b\\ue000'"
        );
        assert_eq!(quoted("\u{1f642}\u{10ffff}"), "'\u{1f642}\\U0010ffff'");
    }
}
