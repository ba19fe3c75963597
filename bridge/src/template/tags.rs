//! Rewriting of single block tags (`{% ... %}`).

use std::borrow::Cow;

/// The filter through which the value of `set name = ...` and `with` goes.
pub const OWN: &str = "vitrine_own";
/// The filter through which the value of `set namespace.name = ...` goes.
pub const OWN_MEMBER: &str = "vitrine_own_member";
/// The filter through which the value goes that `for` iterates.
pub const ITERABLE: &str = "vitrine_iterable";
/// The function that is called in every round of a loop and in every macro.
pub const TICK: &str = "vitrine_tick";

/// A word or a sign outside of strings.
#[derive(Clone, Copy)]
pub struct Token<'a> {
    text: &'a str,
    start: usize,
    /// The number of brackets around it.
    depth: usize,
}

impl Token<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    fn is_name(&self) -> bool {
        self.text
            .starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
    }
}

/// The words and signs of a tag after its opening `{%` or `{{`. A string counts as nothing.
pub fn tokens(tag: &str) -> impl Iterator<Item = Token<'_>> {
    let mut position = 2.min(tag.len());
    let mut depth: usize = 0;
    std::iter::from_fn(move || loop {
        let rest = &tag[position..];
        let first = rest.chars().next()?;
        if first == '\'' || first == '"' {
            position += string_length(rest, first);
            continue;
        }
        let length = rest
            .find(|letter: char| !is_word(letter))
            .unwrap_or(rest.len())
            .max(first.len_utf8());
        let start = position;
        position += length;
        if first.is_whitespace() {
            continue;
        }
        if matches!(first, ')' | ']' | '}') {
            depth = depth.saturating_sub(1);
        }
        let token = Token {
            text: &rest[..length],
            start,
            depth,
        };
        if matches!(first, '(' | '[' | '{') {
            depth += 1;
        }
        return Some(token);
    })
}

/// Whether a letter may be part of a name or a number.
pub fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The length of the string at the beginning of `text`, its quotes included.
pub fn string_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The first word of a block tag.
pub fn keyword(tag: &str) -> &str {
    let body = &tag[2..];
    let body = body.strip_prefix(['-', '+']).unwrap_or(body).trim_start();
    &body[..body.find(|letter| !is_word(letter)).unwrap_or(body.len())]
}

/// Rewrites a block tag:
///
/// - `generation` and `endgeneration` mark what the assistant wrote; they print nothing but open a scope, as `with` does.
/// - What gets a name, by `set`, `with`, `for` or as the parameter of a macro, goes through a filter.
/// - A call of [`TICK`] stands at the beginning of every loop and macro.
pub fn rewrite(tag: &str) -> Cow<'_, str> {
    if !tag.ends_with("%}") {
        return tag.into();
    }
    let parts = Parts::new(tag);
    match keyword(tag) {
        "generation" => parts.renamed("with"),
        "endgeneration" => parts.renamed("endwith"),
        "set" => parts.assigned(),
        "with" => parts.assigned(),
        "for" => parts.checked_loop(),
        "macro" | "call" => parts.checked_parameters(),
        _ => tag.into(),
    }
}

/// Whether an `import ... as` tag names a plain variable: the engine's compiler panics on any other expression there.
pub fn imports_to_name(tag: &str) -> bool {
    let parts = Parts::new(tag);
    let mut rest = parts.tokens.iter().skip_while(|token| token.text != "as");
    let Some(word) = rest.next() else { return true };
    let Some(name) = rest.next() else {
        return false;
    };
    name.is_name()
        && tag[word.end()..name.start].trim().is_empty()
        && rest
            .next()
            .is_none_or(|token| matches!(token.text, "with" | "without"))
}

struct Parts<'a> {
    tag: &'a str,
    /// Those after the keyword.
    tokens: Vec<Token<'a>>,
    keyword_start: usize,
    /// Where the closing `-%}` or `%}` begins.
    close: usize,
}

impl<'a> Parts<'a> {
    fn new(tag: &'a str) -> Parts<'a> {
        let body = tag.strip_suffix("%}").unwrap_or(tag);
        let close = body.strip_suffix(['-', '+']).unwrap_or(body).len();
        let mut tokens = tokens(tag).filter(|token| token.start < close);
        let keyword = tokens.find(Token::is_name);
        Parts {
            tag,
            tokens: tokens.collect(),
            keyword_start: keyword.map_or(close, |token| token.start),
            close,
        }
    }

    fn renamed(&self, name: &str) -> Cow<'a, str> {
        let after = self.keyword_start + keyword(self.tag).len();
        format!(
            "{}{name}{}",
            &self.tag[..self.keyword_start],
            &self.tag[after..]
        )
        .into()
    }

    /// Sends the value of every assignment `target = value` through a filter.
    fn assigned(&self) -> Cow<'a, str> {
        let separates = keyword(self.tag) == "with";
        let mut rewritten = String::with_capacity(self.tag.len() + 32);
        let mut copied = 0;
        let mut outer = self.tokens.iter().filter(|token| token.depth == 0);
        loop {
            let mut filter = OWN;
            let equals = outer.by_ref().find(|token| {
                if token.text == "." {
                    filter = OWN_MEMBER;
                }
                token.text == "="
            });
            let Some(equals) = equals else { break };
            let comma = outer.by_ref().find(|token| separates && token.text == ",");
            let end = comma.map_or(self.close, |token| token.start);
            rewritten.push_str(&self.tag[copied..equals.end()]);
            rewritten.push_str(&filtered(&self.tag[equals.end()..end], filter));
            copied = end;
        }
        rewritten.push_str(&self.tag[copied..]);
        rewritten.into()
    }

    /// Sends the expression between `in` and `if`, `recursive` or the end of the tag through the filter.
    fn checked_loop(&self) -> Cow<'a, str> {
        let mut outer = self.tokens.iter().filter(|token| token.depth == 0);
        let Some(word) = outer.by_ref().find(|token| token.text == "in") else {
            return self.tag.into();
        };
        let after = outer.find(|token| matches!(token.text, "if" | "recursive"));
        let end = after.map_or(self.close, |token| token.start);
        let is_recursive = self
            .tokens
            .last()
            .is_some_and(|token| token.text == "recursive");
        let targets = self.tokens.iter().filter(|token| token.start < word.start);
        // The values of later rounds of a recursive loop come from a call of `loop`.
        let names = targets.filter(|token| is_recursive && token.is_name());
        let head = format!(
            "{} {} {}",
            &self.tag[..word.end()],
            filtered(&self.tag[word.end()..end], ITERABLE).trim(),
            &self.tag[end..self.close]
        );
        self.with_checks(&head, names)
    }

    /// Sends every parameter through the filter.
    fn checked_parameters(&self) -> Cow<'a, str> {
        let is_macro = keyword(self.tag) == "macro";
        let open = self.tokens.iter().position(|token| token.text == "(");
        let has_parameters = is_macro || open == Some(0);
        let list = open
            .filter(|_| has_parameters)
            .map_or(&[][..], |open| &self.tokens[open..]);
        let end = list
            .iter()
            .skip(1)
            .position(|token| token.text == ")" && token.depth == 0);
        let list = &list[..end.map_or(0, |end| end + 1)];
        let names = list
            .windows(2)
            .filter(|pair| {
                matches!(pair[0].text, "(" | ",") && pair[1].depth == 1 && pair[1].is_name()
            })
            .map(|pair| &pair[1]);
        if !is_macro && list.is_empty() {
            return self.tag.into();
        }
        self.with_checks(&self.tag[..self.close], names)
    }

    /// The tag with checks behind it; the whitespace mark of its end moves to the end of the last check.
    fn with_checks<'b>(
        &self,
        head: &str,
        names: impl Iterator<Item = &'b Token<'a>>,
    ) -> Cow<'a, str>
    where
        'a: 'b,
    {
        let mut rewritten = format!("{head}%}}");
        for name in names.map(|token| token.text) {
            rewritten.push_str(&format!("{{% set {name} = {name}|{OWN} %}}"));
        }
        rewritten.push_str(&format!("{{% do {TICK}() {}", &self.tag[self.close..]));
        rewritten.into()
    }
}

fn filtered(expression: &str, filter: &str) -> String {
    format!(" ({})|{filter} ", expression.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generation_tags_become_scopes_and_keep_their_whitespace_marks() {
        assert_eq!(rewrite("{%- generation -%}"), "{%- with -%}");
        assert_eq!(rewrite("{%+endgeneration%}"), "{%+endwith%}");
        assert_eq!(rewrite("{%\n  generation\n%}"), "{%\n  with\n%}");
    }

    #[test]
    fn other_tags_stay() {
        for tag in [
            "{% if generation %}",
            "{% generations %}",
            "{% set x %}",
            "{% set x | trim %}",
            "{% call f(x) %}",
            "{% for x %}",
            "{% with %}",
            "{%%}",
            "{% %}",
            "{% - %}",
        ] {
            assert_eq!(rewrite(tag), tag);
        }
    }

    #[test]
    fn assigned_values_are_owned() {
        for (tag, expected) in [
            ("{%- set x = y==1 -%}", "{%- set x = (y==1)|vitrine_own -%}"),
            (
                "{% set a, b=1, f(c=2)%}",
                "{% set a, b= (1, f(c=2))|vitrine_own %}",
            ),
            (
                "{% set ns.x = '=' ~ a.b %}",
                "{% set ns.x = ('=' ~ a.b)|vitrine_own_member %}",
            ),
            (
                "{% with a = [1, 2], b = c == d %}",
                "{% with a = ([1, 2])|vitrine_own , b = (c == d)|vitrine_own %}",
            ),
        ] {
            assert_eq!(rewrite(tag), expected);
        }
    }

    #[test]
    fn iterated_values_are_checked() {
        for (tag, expected) in [
            ("{%- for x in y -%}", "{%- for x in (y)|vitrine_iterable %}{% do vitrine_tick() -%}"),
            (
                "{% for k, v in d.items() if v in 'a if' %}",
                "{% for k, v in (d.items())|vitrine_iterable if v in 'a if' %}{% do vitrine_tick() %}",
            ),
            (
                "{% for k, v in (a if b else [c]) recursive %}",
                "{% for k, v in ((a if b else [c]))|vitrine_iterable recursive %}\
                 {% set k = k|vitrine_own %}{% set v = v|vitrine_own %}{% do vitrine_tick() %}",
            ),
            (
                "{%for x in' in '%}",
                "{%for x in (' in ')|vitrine_iterable %}{% do vitrine_tick() %}",
            ),
        ] {
            assert_eq!(rewrite(tag), expected);
        }
    }

    #[test]
    fn an_import_needs_a_name() {
        for tag in [
            "{% import 'y' as z %}",
            "{%- import 'y' as z with context -%}",
            "{% import 'y' %}",
        ] {
            assert!(imports_to_name(tag), "{tag}");
        }
        for tag in [
            "{% import 'y' as z %47 %}",
            "{% import 'y' as 'z' %}",
            "{% import 'y' as %}",
            "{% import 'y' as z.x %}",
            "{% import 'y' as 1 %}",
        ] {
            assert!(!imports_to_name(tag), "{tag}");
        }
    }

    #[test]
    fn parameters_are_owned() {
        for (tag, expected) in [
            (
                "{%- macro f() -%}",
                "{%- macro f() %}{% do vitrine_tick() -%}",
            ),
            (
                "{% macro f(a, b=g(c, d)) %}",
                "{% macro f(a, b=g(c, d)) %}\
                 {% set a = a|vitrine_own %}{% set b = b|vitrine_own %}{% do vitrine_tick() %}",
            ),
            (
                "{% call(u) f(x) %}",
                "{% call(u) f(x) %}{% set u = u|vitrine_own %}{% do vitrine_tick() %}",
            ),
        ] {
            assert_eq!(rewrite(tag), expected);
        }
    }
}
