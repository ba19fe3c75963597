//! Rewriting of the template text before it is compiled.

use std::borrow::Cow;

use super::{factors, tags};

/// More words and signs in one tag are refused: the compiler recurses over expressions. The largest tag of 65 real templates
/// has some 50.
const MAX_TAG_TOKENS: usize = 4000;

/// The compiler recurses over the branches of an `if`.
const MAX_ELIFS: usize = 1000;

/// Up to so many words and signs in a tag, and `elif` tags, any thread has the stack to compile the template.
const SMALL_TAG_TOKENS: usize = 100;
const SMALL_ELIFS: usize = 20;

/// A template's text, ready for the compiler.
pub struct Prepared {
    /// The text.
    pub text: String,
    /// Whether the compiler may need more stack than a thread has.
    pub needs_large_stack: bool,
}

/// Rewrites what the engine does not know or takes in another way than Jinja2, and adds the checks of `guard`; see
/// [`tags::rewrite`]. Whitespace marks and line numbers stay as they are, and comments, strings and raw blocks are left
/// alone. Fails with a message where a tag is too long.
pub fn prepare(source: &str) -> Result<Prepared, String> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n"); // as Jinja2 does
    let mut prepared = String::with_capacity(source.len() * 2);
    let mut rest = source.as_str();
    let mut num_elifs = 0;
    let mut most_tokens = 0;
    while let Some(start) = rest.find('{') {
        let (text, tail) = rest.split_at(start);
        prepared.push_str(text);
        let (tag, after) = tail.split_at(tag_length(tail));
        rest = after;
        if !tag.starts_with("{%") && !tag.starts_with("{{") {
            prepared.push_str(tag);
            continue;
        }
        let num_tokens = tags::tokens(tag).take(1 + MAX_TAG_TOKENS).count();
        most_tokens = most_tokens.max(num_tokens);
        if num_tokens > MAX_TAG_TOKENS {
            let line = 1 + prepared.matches('\n').count();
            return Err(format!(
                "line {line}: a tag has more than {MAX_TAG_TOKENS} words and signs"
            ));
        }
        let (rewritten, keyword) = block(tag);
        if keyword == "import" && !tags::imports_to_name(tag) {
            let line = 1 + prepared.matches('\n').count();
            return Err(format!("line {line}: import needs a name after 'as'"));
        }
        prepared.push_str(&rewritten);
        num_elifs += usize::from(keyword == "elif");
        if keyword == "raw" {
            let (raw, after_raw) = rest.split_at(end_of_raw(rest));
            prepared.push_str(raw);
            rest = after_raw;
        }
    }
    if num_elifs > MAX_ELIFS {
        return Err(format!("the template has more than {MAX_ELIFS} elif tags"));
    }
    prepared.push_str(rest);
    Ok(Prepared {
        text: prepared,
        needs_large_stack: most_tokens > SMALL_TAG_TOKENS || num_elifs > SMALL_ELIFS,
    })
}

/// A block tag rewritten, and its first word. Other tags stay.
fn block(tag: &str) -> (Cow<'_, str>, &str) {
    let filtered = factors::filter_factors(tag);
    if !tag.starts_with("{%") {
        return (filtered, "");
    }
    match filtered {
        Cow::Borrowed(tag) => (tags::rewrite(tag), tags::keyword(tag)),
        Cow::Owned(filtered) => (
            tags::rewrite(&filtered).into_owned().into(),
            tags::keyword(tag),
        ),
    }
}

/// The length of the tag, comment or lone brace at the beginning.
fn tag_length(tail: &str) -> usize {
    match tail.as_bytes().get(1) {
        Some(b'#') => tail.find("#}").map_or(tail.len(), |end| end + 2),
        Some(b'{') => end_of_code(tail, "}}"),
        Some(b'%') => end_of_code(tail, "%}"),
        _ => 1,
    }
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
        if tags::keyword(&rest[position + offset..]) == "endraw" {
            return position + offset;
        }
        position += offset + 2;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_rewritten_only_where_it_is_code() {
        for source in [
            "{# {% generation %} #}",
            "{{ '{% generation %}' }}",
            "{% raw %}{% generation %}{% endraw %}",
            "{{ \"\\\" }} {% generation %}\" }}",
            "{ {% 'x' %",
            "{%",
            "{{",
            "é{",
        ] {
            assert_eq!(prepare(source).unwrap().text, source);
        }
        assert_eq!(
            prepare("{{ '%}' }}{%- generation %}").unwrap().text,
            "{{ '%}' }}{%- with %}"
        );
    }

    #[test]
    fn what_would_exhaust_the_compilers_stack_is_refused() {
        assert!(prepare(&format!("\n{{{{ {} }}}}", "- ".repeat(5000)))
            .is_err_and(|message| message.starts_with("line 2: ")));
        assert!(prepare(&"{% elif x %}".repeat(1001)).is_err());
        assert!(prepare(&"{% elif x %}".repeat(1000)).is_ok());
    }
}
