//! Python's ways with text.

/// From which end a text is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Side {
    Left,
    Right,
}

/// `str.isspace` of one character: Unicode's white space and the four information separators.
pub fn is_whitespace(letter: char) -> bool {
    letter.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&letter)
}

/// `subject.split(separator, limit)` and `rsplit`.
pub fn split<'a>(
    subject: &'a str,
    separator: &str,
    limit: Option<usize>,
    side: Side,
) -> Vec<&'a str> {
    let num_parts = limit.map_or(usize::MAX, |limit| limit.saturating_add(1));
    match side {
        Side::Left => subject.splitn(num_parts, separator).collect(),
        Side::Right => {
            let mut parts: Vec<_> = subject.rsplitn(num_parts, separator).collect();
            parts.reverse();
            parts
        }
    }
}

/// `subject.split(None, limit)` and `rsplit`: runs of white space separate, and the text left at the
/// limit keeps its far end.
pub fn split_whitespace(subject: &str, limit: Option<usize>, side: Side) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = match side {
        Side::Left => subject.trim_start_matches(is_whitespace),
        Side::Right => subject.trim_end_matches(is_whitespace),
    };
    while !rest.is_empty() {
        let cut = match side {
            _ if limit == Some(parts.len()) => None,
            Side::Left => rest.find(is_whitespace),
            Side::Right => rest.rfind(is_whitespace),
        };
        let (part, others) = match (cut, side) {
            (None, _) => (rest, ""),
            (Some(cut), Side::Left) => {
                (&rest[..cut], rest[cut..].trim_start_matches(is_whitespace))
            }
            (Some(cut), Side::Right) => {
                let part = rest[cut..].trim_start_matches(is_whitespace);
                (part, rest[..cut].trim_end_matches(is_whitespace))
            }
        };
        parts.push(part);
        rest = others;
    }
    if side == Side::Right {
        parts.reverse();
    }
    parts
}

/// `subject.partition(separator)` and `rpartition`.
pub fn partition<'a>(subject: &'a str, separator: &'a str, side: Side) -> [&'a str; 3] {
    let halves = match side {
        Side::Left => subject.split_once(separator),
        Side::Right => subject.rsplit_once(separator),
    };
    match (halves, side) {
        (Some((before, after)), _) => [before, separator, after],
        (None, Side::Left) => [subject, "", ""],
        (None, Side::Right) => ["", "", subject],
    }
}

/// `subject[start:end]` and the number of characters before it.
pub fn slice(subject: &str, start: Option<i64>, end: Option<i64>) -> (usize, &str) {
    if start.is_none() && end.is_none() {
        return (0, subject);
    }
    let length = subject.chars().count() as i64;
    let clamp = |place: i64| if place < 0 { (length + place).max(0) } else { place.min(length) } as usize;
    let start = clamp(start.unwrap_or(0));
    let end = clamp(end.unwrap_or(length)).max(start);
    let byte_of = |place: usize| {
        subject
            .char_indices()
            .nth(place)
            .map_or(subject.len(), |(at, _)| at)
    };
    (start, &subject[byte_of(start)..byte_of(end)])
}

fn ends_line(letter: char) -> bool {
    matches!(
        letter,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// `subject.splitlines(keep_ends)`.
pub fn split_lines(subject: &str, keep_ends: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = subject;
    while !rest.is_empty() {
        let end = rest.find(ends_line).unwrap_or(rest.len());
        let mark = &rest[end..];
        let mark_length = if mark.starts_with("\r\n") {
            2
        } else {
            mark.chars().next().map_or(0, char::len_utf8)
        };
        let kept = if keep_ends { end + mark_length } else { end };
        lines.push(&rest[..kept]);
        rest = &rest[end + mark_length..];
    }
    lines
}

/// `subject.title()`: a letter is large unless it follows a letter.
pub fn title(subject: &str) -> String {
    let mut titled = String::with_capacity(subject.len());
    let mut in_word = false;
    for letter in subject.chars() {
        if in_word {
            titled.extend(letter.to_lowercase());
        } else {
            titled.extend(letter.to_uppercase());
        }
        in_word = letter.is_alphabetic();
    }
    titled
}

/// `subject.swapcase()`.
pub fn swap_case(subject: &str) -> String {
    let mut swapped = String::with_capacity(subject.len());
    for letter in subject.chars() {
        if letter.is_uppercase() {
            swapped.extend(letter.to_lowercase());
        } else {
            swapped.extend(letter.to_uppercase());
        }
    }
    swapped
}

/// `subject.zfill(...)` with `missing` zeros behind the sign.
pub fn zero_fill(subject: &str, missing: usize) -> String {
    let sign_length = usize::from(subject.starts_with(['+', '-']));
    let (sign, digits) = subject.split_at(sign_length);
    format!("{sign}{}{digits}", "0".repeat(missing))
}

/// Jinja's filter `indent`: every line but the first, and no blank one, unless asked for.
pub fn indent(subject: &str, indention: &str, first: bool, blank: bool) -> String {
    // The added newline keeps one at the end of the subject.
    let subject = format!("{subject}\n");
    let mut indented = String::with_capacity(subject.len());
    for (index, line) in split_lines(&subject, false).into_iter().enumerate() {
        if index > 0 {
            indented.push('\n');
        }
        let wanted = if index == 0 {
            first
        } else {
            blank || !line.is_empty()
        };
        if wanted {
            indented.push_str(indention);
        }
        indented.push_str(line);
    }
    indented
}

/// `markupsafe.escape`.
pub fn escape_html(subject: &str) -> String {
    let mut escaped = String::with_capacity(subject.len());
    for letter in subject.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\'' => escaped.push_str("&#39;"),
            '"' => escaped.push_str("&#34;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_split_as_in_python() {
        assert_eq!(split("a,b,c", ",", Some(1), Side::Left), ["a", "b,c"]);
        assert_eq!(split("a,b,c", ",", Some(1), Side::Right), ["a,b", "c"]);
        assert_eq!(
            split_whitespace("  a b  c ", None, Side::Left),
            ["a", "b", "c"]
        );
        assert_eq!(
            split_whitespace("  a b  c ", Some(1), Side::Left),
            ["a", "b  c "]
        );
        assert_eq!(
            split_whitespace("  a b  c ", Some(1), Side::Right),
            ["  a b", "c"]
        );
        assert_eq!(split_whitespace(" ", None, Side::Left), [""; 0]);
        assert_eq!(
            split_lines("a\r\nb\n\nc\u{2028}", false),
            ["a", "b", "", "c"]
        );
        assert_eq!(split_lines("a\r\nb\n", true), ["a\r\n", "b\n"]);
        assert_eq!(partition("a-b-c", "-", Side::Right), ["a-b", "-", "c"]);
        assert_eq!(slice("añb", Some(-2), None), (1, "ñb"));
        assert_eq!(slice("abc", Some(2), Some(1)), (2, ""));
    }

    #[test]
    fn text_is_changed_as_in_python() {
        assert_eq!(title("it's a dog"), "It'S A Dog");
        assert_eq!(zero_fill("-5", 2), "-005");
        assert_eq!(indent("a\nb\n\nc\n", "  ", false, false), "a\n  b\n\n  c\n");
        assert_eq!(indent("a\n\nb", "> ", true, true), "> a\n> \n> b");
        assert_eq!(escape_html("<a href=\"'&/"), "&lt;a href=&#34;&#39;&amp;/");
    }
}
