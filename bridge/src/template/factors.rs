//! Sends both sides of every multiplication through a filter.
//!
//! A list times a number stays unevaluated in the engine and may stand for a hundred million items, which comparing and
//! printing walk through for one instruction. The filter refuses lists; texts and numbers pass.

use std::borrow::Cow;

use super::tags::{is_word, string_length};

/// The filter.
pub const FACTOR: &str = "vitrine_factor";

/// The tag (`{{ ... }}` or `{% ... %}`) with its factors filtered.
pub fn filter_factors(tag: &str) -> Cow<'_, str> {
    let stars = multiplications(tag);
    if stars.is_empty() {
        return tag.into();
    }
    let mut places: Vec<usize> = stars
        .into_iter()
        .flat_map(|star| [tag[..star].trim_end().len(), end_of_factor(tag, star + 1)])
        .collect();
    places.sort_unstable();
    places.dedup(); // the middle one of three factors is right and left of a sign
    let mut rewritten = String::with_capacity(tag.len() + places.len() * (FACTOR.len() + 1));
    let mut copied = 0;
    for place in places {
        rewritten.push_str(&tag[copied..place]);
        rewritten.push('|');
        rewritten.push_str(FACTOR);
        copied = place;
    }
    rewritten.push_str(&tag[copied..]);
    rewritten.into()
}

/// Where the signs `*` stand that have a factor on their left: not those of `**`, nor of `f(*arguments)`.
fn multiplications(tag: &str) -> Vec<usize> {
    let bytes = tag.as_bytes();
    let mut found = Vec::new();
    let mut ends_operand = false;
    let mut position = 2.min(bytes.len());
    while position < bytes.len() {
        match bytes[position] {
            quote @ (b'\'' | b'"') => {
                position += string_length(&tag[position..], char::from(quote));
                ends_operand = true;
                continue;
            }
            b'*' if bytes[position..].starts_with(b"**") => {
                position += 1;
                ends_operand = false;
            }
            b'*' => {
                if ends_operand {
                    found.push(position);
                }
                ends_operand = false;
            }
            byte if byte.is_ascii_whitespace() => {}
            byte => {
                ends_operand = byte >= 0x80 || is_word(char::from(byte)) || b")]}".contains(&byte)
            }
        }
        position += 1;
    }
    found
}

fn skip_whitespace(tag: &str, start: usize) -> usize {
    start + (tag[start..].len() - tag[start..].trim_start().len())
}

/// The end of the signs, the operand and all that binds tighter than `*` after `start`; `start` where there is none.
fn end_of_factor(tag: &str, start: usize) -> usize {
    let mut at = skip_whitespace(tag, start);
    while tag[at..].starts_with(['-', '+']) {
        at = skip_whitespace(tag, at + 1);
    }
    let Some(mut end) = end_of_part(tag, at) else {
        return tag[..start].len();
    };
    loop {
        let next = skip_whitespace(tag, end);
        let after = match tag[next..].chars().next() {
            Some('.' | '|') => end_of_part(tag, skip_whitespace(tag, next + 1)),
            Some('(' | '[') => end_of_part(tag, next),
            _ => None,
        };
        match after {
            Some(after) => end = after,
            None => return end,
        }
    }
}

/// The end of the word, text or bracket that begins at `start`.
fn end_of_part(tag: &str, start: usize) -> Option<usize> {
    let rest = &tag[start..];
    match rest.chars().next()? {
        quote @ ('\'' | '"') => Some(start + string_length(rest, quote)),
        '(' | '[' | '{' => end_of_bracket(tag, start),
        letter if is_word(letter) => {
            Some(start + rest.find(|other| !is_word(other)).unwrap_or(rest.len()))
        }
        _ => None,
    }
}

fn end_of_bracket(tag: &str, start: usize) -> Option<usize> {
    let mut depth = 0;
    let mut position = start;
    while let Some(letter) = tag[position..].chars().next() {
        match letter {
            '\'' | '"' => {
                position += string_length(&tag[position..], letter);
                continue;
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        position += letter.len_utf8();
        if depth == 0 {
            return Some(position);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_a_multiplication_are_filtered() {
        for (tag, expected) in [
            ("{{ a*b }}", "{{ a|F*b|F }}"),
            ("{{ '-' * 40 }}", "{{ '-'|F * 40|F }}"),
            (
                "{{ x + f(a)[1] * -b.c(d)|e(1) - 2 }}",
                "{{ x + f(a)[1]|F * -b.c(d)|e(1)|F - 2 }}",
            ),
            (
                "{{ (a)*[b * 'c)']*1.5 }}",
                "{{ (a)|F*[b|F * 'c)'|F]|F*1.5|F }}",
            ),
            ("{% if é * é %}", "{% if é|F * é|F %}"),
            ("{{- a * b -}}", "{{- a|F * b|F -}}"),
        ] {
            assert_eq!(filter_factors(tag), expected.replace('F', FACTOR));
        }
    }

    #[test]
    fn other_stars_stay() {
        for tag in [
            "{{ 'a*b' }}",
            "{{ a ** b }}",
            "{{ f(*a, **b) }}",
            "{{ f(a, *b) }}",
            "{{ * }}",
            "{{ 2 +* 3 }}",
        ] {
            assert_eq!(filter_factors(tag), tag);
        }
    }

    #[test]
    fn a_star_without_a_right_side_harms_nothing() {
        for tag in ["{{ a *", "{{ a * }}", "{{ a * ( }}", "{% x * é"] {
            filter_factors(tag);
        }
    }
}
