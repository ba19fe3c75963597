//! Chat templates, rendered as the transformers library renders them: Jinja2's immutable sandbox with `trim_blocks`,
//! `lstrip_blocks`, loop controls, `generation` blocks, `raise_exception`, `strftime_now` and a `tojson` that equals
//! Python's `json.dumps(ensure_ascii=False)`.

mod environment;
mod factors;
mod filters;
mod guard;
mod json;
mod methods;
mod python;
mod source;
mod tags;
mod text;
mod time;

use std::io;

use minijinja::value::Value;
use minijinja::{Environment, Error, ErrorKind};

pub use time::Time;

/// What a template may use up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Instructions of one render; 64 bytes of text made cost as much as one.
    pub steps: u64,
    /// Macro calls inside each other.
    pub depth: usize,
    /// Bytes of the template.
    pub source_bytes: usize,
    /// Bytes of the rendered text.
    pub output_bytes: usize,
}

/// Why a template failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FailureKind {
    BadInput,
    Syntax,
    Render,
    Limit,
}

/// A failure with a one-line message.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
}

impl Failure {
    /// A failure whose message is forced onto one line.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        let message: String = message.into();
        Failure {
            kind,
            message: message.replace(['\n', '\r'], " "),
        }
    }
}

/// A compiled template. Rendering needs only a shared reference, from any thread.
pub struct Template {
    environment: Environment<'static>,
    limits: Limits,
}

/// The name that the template has in its environment; its lack of an extension turns HTML escaping off.
const NAME: &str = "chat_template";

impl Template {
    /// Compiles `source`.
    pub fn compile(source: &str, limits: Limits) -> Result<Template, Failure> {
        if source.len() > limits.source_bytes {
            return Err(Failure::new(
                FailureKind::Limit,
                format!(
                    "the template has {} bytes, the limit is {}",
                    source.len(),
                    limits.source_bytes
                ),
            ));
        }
        let prepared = source::prepare(source)
            .map_err(|message| Failure::new(FailureKind::Syntax, message))?;
        if prepared.needs_large_stack {
            return with_large_stack(|| Template::from_prepared(prepared.text, limits));
        }
        Template::from_prepared(prepared.text, limits)
    }

    fn from_prepared(text: String, limits: Limits) -> Result<Template, Failure> {
        let mut environment = environment::new(&limits);
        environment
            .add_template_owned(NAME, text)
            .map_err(|error| failure(&error, FailureKind::Syntax))?;
        Ok(Template {
            environment,
            limits,
        })
    }

    /// Renders with the members of the JSON object `variables`.
    pub fn render(&self, variables: &str, now: Time) -> Result<String, Failure> {
        let context = context(variables, now)?;
        let template = self
            .environment
            .get_template(NAME)
            .map_err(|error| failure(&error, FailureKind::Syntax))?;
        let mut output = LimitedOutput {
            bytes: Vec::new(),
            limit: self.limits.output_bytes,
            full: false,
        };
        let outcome = template.render_captured_to(context, &mut output).map(drop);
        if output.full {
            return Err(Failure::new(
                FailureKind::Limit,
                format!(
                    "the rendered text is over {} bytes",
                    self.limits.output_bytes
                ),
            ));
        }
        outcome.map_err(|error| self.render_failure(&error))?;
        String::from_utf8(output.bytes)
            .map_err(|_| Failure::new(FailureKind::Render, "the rendered text is not UTF-8"))
    }

    fn render_failure(&self, error: &Error) -> Failure {
        if error.kind() == ErrorKind::OutOfFuel && error.detail().is_none() {
            let what = format!("rendering takes more than {} steps", self.limits.steps);
            return at_line(error, FailureKind::Limit, &what);
        }
        failure(error, FailureKind::Render)
    }
}

/// The compiler recurses over the operators of an expression, of which `source` allows thousands.
const COMPILER_STACK_BYTES: usize = 64 << 20;

/// Runs `body` on a thread of its own. A panic there goes on here.
fn with_large_stack<T: Send>(
    body: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(COMPILER_STACK_BYTES);
        match thread.spawn_scoped(scope, body) {
            Ok(running) => running
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(error) => Err(Failure::new(
                FailureKind::Limit,
                format!("no thread to compile on: {error}"),
            )),
        }
    })
}

fn context(variables: &str, now: Time) -> Result<Value, Failure> {
    let bad = |message: String| Failure::new(FailureKind::BadInput, message);
    let members: std::collections::BTreeMap<String, Value> = serde_json::from_str(variables)
        .map_err(|error| bad(format!("the variables are no JSON object: {error}")))?;
    let clock = Value::from_function(move |format: &str| time::strftime(now, format));
    let mut pairs = vec![("strftime_now".to_string(), clock)];
    pairs.extend(members);
    Ok(Value::from_pairs(pairs))
}

/// The message of the innermost error, with the template's line.
fn failure(error: &Error, kind: FailureKind) -> Failure {
    let kind = match error.kind() {
        ErrorKind::OutOfFuel => FailureKind::Limit,
        ErrorKind::SyntaxError | ErrorKind::BadEscape => FailureKind::Syntax,
        _ if is_depth_error(error) => FailureKind::Limit,
        _ => kind,
    };
    let what = match error.detail() {
        Some(detail) => detail.to_string(),
        None => error.kind().to_string(),
    };
    at_line(error, kind, &what)
}

fn at_line(error: &Error, kind: FailureKind, what: &str) -> Failure {
    match error.line() {
        Some(line) => Failure::new(kind, format!("line {line}: {what}")),
        None => Failure::new(kind, what),
    }
}

fn is_depth_error(error: &Error) -> bool {
    error
        .detail()
        .is_some_and(|detail| detail.contains("recursion limit"))
}

/// Collects the rendered text and refuses more than `limit` bytes of it.
struct LimitedOutput {
    bytes: Vec<u8>,
    limit: usize,
    full: bool,
}

impl io::Write for LimitedOutput {
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        if chunk.len() > self.limit - self.bytes.len() {
            self.full = true;
            return Err(io::Error::other("output limit"));
        }
        self.bytes.extend_from_slice(chunk);
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time {
        year: 2025,
        month: 3,
        day: 14,
        hour: 15,
        minute: 9,
        second: 26,
    };

    const LIMITS: Limits = Limits {
        steps: 1_000_000,
        depth: 64,
        source_bytes: 1 << 20,
        output_bytes: 4 << 20,
    };

    fn render(source: &str) -> Result<String, Failure> {
        Template::compile(source, LIMITS)?.render(
            r#"{"l": [3, 1, 2], "s": "Hello", "d": {"b": 1, "a": null}}"#,
            NOW,
        )
    }

    fn assert_limited(source: &str) {
        let failure = render(source).unwrap_err();
        assert_eq!(
            failure.kind,
            FailureKind::Limit,
            "{source}: {}",
            failure.message
        );
    }

    #[test]
    fn keys_in_formats_that_are_not_ascii_are_refused() {
        for source in [
            "{{ 'a{0[é]}'.format([1]) }}",
            "{{ '{0[a][é]}'.format([1]) }}",
            "{{ '{0[}é]}'.format([1]) }}",
            "{{ '%(é)s' | format(1) }}",
        ] {
            let failure = render(source).unwrap_err();
            assert!(failure.message.contains("must be ASCII"), "{source}");
        }
        assert_eq!(
            render("{{ '{} [é] {{[é]}} é'.format(1) }}").unwrap(),
            "1 [é] {[é]} é"
        );
        assert_eq!(
            render("{{ '%d %%(é) é' | format(1) }}").unwrap(),
            "1 %(é) é"
        );
        assert_eq!(render("{{ '%(a)s' | format(a=2) }}").unwrap(), "2");
    }

    #[test]
    fn lists_added_forty_times_to_themselves_end_with_an_error() {
        for look in ["ns.s|length", "ns.s == [1]", "ns.s ~ ''", "ns.s|tojson"] {
            assert_limited(&format!(
                "{{% set ns = namespace(s=[1]) %}}{{% for i in range(40) %}}{{% set ns.s = ns.s + ns.s %}}\
                 {{% endfor %}}{{{{ {look} }}}}"
            ));
        }
        assert_limited("{% macro m(s, n) %}{{ m(s + s, n - 1) if n else s|length }}{% endmacro %}{{ m([1], 60) }}");
    }

    #[test]
    fn lists_are_not_multiplied() {
        for source in [
            "{{ l * 99999999 }}",
            "{{ (l * 99999999) ~ '' }}",
            "{{ [9 * l] == [l] }}",
            "{% set x = l * 3 %}",
        ] {
            let failure = render(source).unwrap_err();
            assert!(
                failure.message.contains("a list cannot be multiplied"),
                "{source}"
            );
        }
        assert_eq!(render("{{ '-' * 3 }}{{ 2 * 3 * -4 }}").unwrap(), "----24");
        assert_eq!(render("{% set x = l[0] * l|length %}{{ x }}").unwrap(), "9");
    }

    #[test]
    fn shared_and_deep_values_end_with_an_error() {
        for grown in [
            "[ns.s, ns.s]",
            "{'a': ns.s, 'b': ns.s}",
            "[ns.s]",
            "(ns.s, 1)",
            "ns.s|zip([1])",
        ] {
            assert_limited(&format!(
                "{{% set ns = namespace(s=[1]) %}}{{% for i in range(90000) %}}{{% set ns.s = {grown} %}}\
                 {{% endfor %}}{{{{ ns.s ~ '' }}}}"
            ));
        }
    }

    #[test]
    fn a_namespace_cannot_hold_itself() {
        for held in ["ns", "[ns]", "{'a': ns}"] {
            let source =
                format!("{{% set ns = namespace() %}}{{% set ns.x = {held} %}}{{{{ ns ~ '' }}}}");
            assert_eq!(
                render(&source).unwrap_err().kind,
                FailureKind::Render,
                "{source}"
            );
        }
    }

    #[test]
    fn endless_work_on_long_texts_ends_in_time() {
        let started = std::time::Instant::now();
        for work in ["s == t", "s.count('b')"] {
            assert_limited(&format!(
                "{{% set s = 'é' * 500000 %}}{{% set t = 'é' * 500000 %}}\
                 {{% for i in range(90000) %}}{{% if {work} %}}{{% endif %}}{{% endfor %}}"
            ));
        }
        assert!(started.elapsed().as_secs() < 30);
    }

    #[test]
    fn assigned_sequences_are_lists_as_in_python() {
        assert_eq!(
            render("{% set x = l + [9] %}{{ x[3] }}{{ x|length }}{% set y = x[1:] %}{{ y }}{{ y is sequence }}").unwrap(),
            "94[1, 2, 9]True"
        );
        assert_eq!(
            render("{% set ns = namespace({'q': 2}, a=1) %}{{ ns.q }}{{ ns.a }}{% with a=1, b=2 %}{{ a + b }}{% endwith %}")
                .unwrap(),
            "213"
        );
    }

    #[test]
    fn filters_answer_as_in_jinja() {
        for (expression, text) in [
            ("d|tojson", r#"{"b": 1, "a": null}"#),
            (
                "d|tojson(sort_keys=true, separators=(',', ':'))",
                r#"{"a":null,"b":1}"#,
            ),
            ("l|tojson(indent=2)", "[\n  3,\n  1,\n  2\n]"),
            ("'zz'|int ~ 'zz'|float ~ '0x1A'|int(base=16)", "00.026"),
            ("'<\"/>'|e", "&lt;&#34;/&gt;"),
            ("s is sequence, none is iterable", ""),
            (
                "s.split('l', 1)|tojson ~ s.rpartition('l')",
                "[\"He\", \"lo\"]('Hel', 'l', 'o')",
            ),
            ("s.find('l', 3) ~ s.startswith('e', 1)", "3True"),
            ("[none, 1e16, 'é']", "[None, 1e+16, 'é']"),
        ] {
            let source = format!("{{{{ {expression} }}}}");
            match render(&source) {
                Ok(rendered) => assert_eq!(rendered, text, "{source}"),
                Err(failure) => assert_eq!(text, "", "{source}: {}", failure.message),
            }
        }
    }
}
