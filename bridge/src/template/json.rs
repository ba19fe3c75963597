//! `json.dumps`.

use std::fmt::Write;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::python::{self, PaidText};

/// The arguments of `json.dumps` that templates use.
pub struct Options {
    /// Escape everything but ASCII.
    pub ensure_ascii: bool,
    /// The text of one level of indentation; `None` writes one line.
    pub indent: Option<String>,
    /// Between items.
    pub item_separator: String,
    /// Between a key and its value.
    pub key_separator: String,
    /// Members in the order of their keys.
    pub sort_keys: bool,
}

/// `json.dumps(value, ...)`.
pub fn dumps(state: &State, value: &Value, options: &Options) -> Result<String, Error> {
    let mut writer = Writer {
        text: PaidText::new(state),
        options,
    };
    writer.value(value, 0)?;
    Ok(writer.text.finish())
}

struct Writer<'a, 'b, 'c, 'd> {
    text: PaidText<'a, 'b, 'c>,
    options: &'d Options,
}

impl Writer<'_, '_, '_, '_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => self.text.push("null"),
            ValueKind::Bool => self
                .text
                .push(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.text.push(&number(value)),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => self.array(value, depth),
            ValueKind::Map => self.object(value, depth),
            kind => Err(not_serializable(&kind.to_string())),
        }
    }

    fn string(&mut self, text: &str) -> Result<(), Error> {
        self.text.push(&quoted(text, self.options.ensure_ascii))
    }

    fn line_break(&mut self, depth: usize) -> Result<(), Error> {
        match &self.options.indent {
            Some(indent) => {
                self.text.push("\n")?;
                (0..depth).try_for_each(|_| self.text.push(indent))
            }
            None => Ok(()),
        }
    }

    fn before_item(&mut self, index: usize, depth: usize) -> Result<(), Error> {
        if index > 0 {
            self.text.push(&self.options.item_separator)?;
        }
        self.line_break(depth + 1)
    }

    fn array(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        python::check_depth(depth)?;
        self.text.push("[")?;
        let mut count = 0;
        for item in value.try_iter()?.checked() {
            self.before_item(count, depth)?;
            self.value(&item?, depth + 1)?;
            count += 1;
        }
        if count > 0 {
            self.line_break(depth)?;
        }
        self.text.push("]")
    }

    fn object(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        python::check_depth(depth)?;
        let mut keys = value.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?;
        if self.options.sort_keys {
            keys.sort();
        }
        self.text.push("{")?;
        for (index, key) in keys.iter().enumerate() {
            self.before_item(index, depth)?;
            self.string(&key_text(key)?)?;
            self.text.push(&self.options.key_separator)?;
            self.value(&value.get_item(key)?, depth + 1)?;
        }
        if !keys.is_empty() {
            self.line_break(depth)?;
        }
        self.text.push("}")
    }
}

fn not_serializable(kind: &str) -> Error {
    Error::new(
        ErrorKind::BadSerialization,
        format!("tojson: a value of type {kind} is not JSON serializable"),
    )
}

fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.to_string()),
        ValueKind::None => Ok("null".to_string()),
        ValueKind::Bool => Ok(if key.is_true() { "true" } else { "false" }.to_string()),
        ValueKind::Number => Ok(number(key)),
        kind => Err(not_serializable(&format!("{kind} as a key"))),
    }
}

/// As Python, which writes the non-numbers as JavaScript does.
fn number(value: &Value) -> String {
    match python::number(value).as_str() {
        "nan" => "NaN".to_string(),
        "inf" => "Infinity".to_string(),
        "-inf" => "-Infinity".to_string(),
        digits => digits.to_string(),
    }
}

fn quoted(text: &str, ensure_ascii: bool) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\u{0}'..='\u{1f}' => push_unicode(&mut quoted, letter),
            '\u{7f}'.. if ensure_ascii => push_unicode(&mut quoted, letter),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

fn push_unicode(quoted: &mut String, letter: char) {
    for unit in letter.encode_utf16(&mut [0; 2]) {
        let _ = write!(quoted, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn strings_are_escaped_as_in_python() {
        assert_eq!(
            quoted("<\"\\\u{1}\u{7f}ü&'>\u{8}", false),
            "\"<\\\"\\\\\\u0001\u{7f}ü&'>\\b\""
        );
        assert_eq!(
            quoted("ü\u{7f}🙂", true),
            "\"\\u00fc\\u007f\\ud83d\\ude42\""
        );
    }
}
