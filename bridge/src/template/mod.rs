//! Chat templates, rendered as the transformers library renders them: Jinja2's immutable sandbox with `trim_blocks`,
//! `lstrip_blocks`, loop controls, `generation` blocks, `raise_exception`, `strftime_now` and a `tojson` that equals
//! Python's `json.dumps(ensure_ascii=False)`.

mod environment;
mod filters;
mod json;
mod methods;
mod python;
mod source;
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
        let mut environment = environment::new(&limits);
        environment
            .add_template_owned(NAME, source::prepare(source))
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
        outcome.map_err(|error| failure(&error, FailureKind::Render))?;
        String::from_utf8(output.bytes)
            .map_err(|_| Failure::new(FailureKind::Render, "the rendered text is not UTF-8"))
    }
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
