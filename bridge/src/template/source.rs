//! Rewriting of the template text before it is compiled.

use std::borrow::Cow;

/// The filter that fails for what Python cannot iterate.
pub const ITERABLE: &str = "vitrine_iterable";

/// Rewrites what the engine does not know or takes in another way than Jinja2:
///
/// - `generation` and `endgeneration` mark what the assistant wrote; they print nothing but open a scope, as `with` does.
/// - `for x in none` is an error in Python; the iterated expression goes through the filter [`ITERABLE`], which checks it.
///
/// Whitespace marks and line numbers stay as they are, and comments, strings and raw blocks are left alone.
pub fn prepare(source: &str) -> String {
    let mut prepared = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find('{') {
        let (text, tail) = rest.split_at(start);
        prepared.push_str(text);
        let length = match tail.as_bytes().get(1) {
            Some(b'#') => end_of_comment(tail),
            Some(b'{') => end_of_code(tail, "}}"),
            Some(b'%') => end_of_code(tail, "%}"),
            _ => 1,
        };
        let (tag, after) = tail.split_at(length);
        rest = after;
        if !tag.starts_with("{%") {
            prepared.push_str(tag);
            continue;
        }
        prepared.push_str(&rewritten(tag));
        if keyword(tag).0 == "raw" {
            let (raw, after_raw) = rest.split_at(end_of_raw(rest));
            prepared.push_str(raw);
            rest = after_raw;
        }
    }
    prepared.push_str(rest);
    prepared
}

fn end_of_comment(tail: &str) -> usize {
    tail.find("#}").map_or(tail.len(), |end| end + 2)
}

/// The length of a tag up to its `closer`, which does not count inside a string.
fn end_of_code(tail: &str, closer: &str) -> usize {
    let bytes = tail.as_bytes();
    let mut quote = None;
    let mut position = 2;
    while position < bytes.len() {
        let byte = bytes[position];
        match quote {
            Some(_) if byte == b'\\' => position += 1,
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if byte == b'\'' || byte == b'"' => quote = Some(byte),
            None if bytes[position..].starts_with(closer.as_bytes()) => {
                return position + closer.len()
            }
            None => {}
        }
        position += 1;
    }
    tail.len()
}

fn end_of_raw(rest: &str) -> usize {
    let mut position = 0;
    while let Some(offset) = rest[position..].find("{%") {
        let tag = &rest[position + offset..];
        if keyword(tag).0 == "endraw" {
            return position + offset;
        }
        position += offset + 2;
    }
    rest.len()
}

/// The first word of a block tag and where it stands in the tag.
fn keyword(tag: &str) -> (&str, usize) {
    let body = &tag[2..];
    let marked = body.strip_prefix(['-', '+']).unwrap_or(body);
    let trimmed = marked.trim_start();
    let length = trimmed
        .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .unwrap_or(trimmed.len());
    (&trimmed[..length], tag.len() - trimmed.len())
}

fn rewritten(tag: &str) -> Cow<'_, str> {
    let (word, start) = keyword(tag);
    match word {
        "generation" => renamed(tag, start, word, "with"),
        "endgeneration" => renamed(tag, start, word, "endwith"),
        "for" => checked_loop(tag, start + word.len()),
        _ => tag.into(),
    }
}

fn renamed<'a>(tag: &str, start: usize, word: &str, name: &str) -> Cow<'a, str> {
    format!("{}{name}{}", &tag[..start], &tag[start + word.len()..]).into()
}

/// Puts the expression between `in` and `if`, `recursive` or the end of the tag through the filter.
fn checked_loop(tag: &str, start: usize) -> Cow<'_, str> {
    let end = tag.strip_suffix("%}").unwrap_or(tag);
    let end = end.strip_suffix(['-', '+']).unwrap_or(end).len();
    let mut words = outer_words(&tag[..end], start);
    let Some((_, expression)) = words.find(|(word, _)| *word == "in") else {
        return tag.into();
    };
    let after = words
        .find(|(word, _)| matches!(*word, "if" | "recursive"))
        .map_or(end, |(word, word_end)| word_end - word.len());
    format!(
        "{} ({})|{ITERABLE} {}",
        &tag[..expression],
        &tag[expression..after],
        &tag[after..]
    )
    .into()
}

/// The words of a tag from `start` on that stand outside of strings and brackets, each with the place where it ends.
fn outer_words(tag: &str, start: usize) -> impl Iterator<Item = (&str, usize)> {
    let mut depth = 0;
    let mut quote = None;
    let mut escaped = false;
    let mut word_start = None;
    let letters = tag[start..]
        .char_indices()
        .map(move |(at, letter)| (start + at, letter));
    letters
        .chain([(tag.len(), ' ')])
        .filter_map(move |(at, letter)| {
            let in_word = quote.is_none() && (letter.is_alphanumeric() || letter == '_');
            if in_word {
                word_start.get_or_insert(at);
                return None;
            }
            let word = word_start
                .take()
                .filter(|_| depth == 0)
                .map(|from| (&tag[from..at], at));
            match (quote, letter) {
                (Some(_), _) if escaped => escaped = false,
                (Some(_), '\\') => escaped = true,
                (Some(open), _) if open == letter => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(letter),
                (None, '(' | '[' | '{') => depth += 1,
                (None, ')' | ']' | '}') => depth -= 1,
                (None, _) => {}
            }
            word
        })
}

#[cfg(test)]
mod tests {
    use super::prepare;

    #[test]
    fn generation_tags_become_scopes_and_keep_their_whitespace_marks() {
        assert_eq!(
            prepare("a{%- generation -%} b {%+endgeneration%}c"),
            "a{%- with -%} b {%+endwith%}c"
        );
        assert_eq!(
            prepare("{%\n  generation\n%}x{% endgeneration -%}"),
            "{%\n  with\n%}x{% endwith -%}"
        );
    }

    #[test]
    fn iterated_expressions_are_checked() {
        for (source, expected) in [
            (
                "{%- for x in y -%}",
                "{%- for x in ( y )|vitrine_iterable -%}",
            ),
            (
                "{% for k, v in d.items() if v in 'a if' %}",
                "{% for k, v in ( d.items() )|vitrine_iterable if v in 'a if' %}",
            ),
            (
                "{% for x in (a if b else [c]) recursive %}",
                "{% for x in ( (a if b else [c]) )|vitrine_iterable recursive %}",
            ),
            (
                "{%for x in' in '%}",
                "{%for x in (' in ')|vitrine_iterable %}",
            ),
            ("{% for x %}", "{% for x %}"),
        ] {
            assert_eq!(prepare(source), expected);
        }
    }

    #[test]
    fn other_places_keep_the_word() {
        for source in [
            "{# {% generation %} #}",
            "{{ '{% generation %}' }}",
            "{% raw %}{% generation %}{% endraw %}",
            "{% if generation %}{% endif %}",
            "{% generations %}",
            "{ {% 'x' %",
            "{%",
            "{{ \"\\\" }} {% generation %}\" }}",
            "é{",
        ] {
            assert_eq!(prepare(source), source);
        }
    }
}
