//! The C boundary: raw pointers in, statuses out, and no panic beyond it.

use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::template::{Failure, FailureKind, Limits, Template, Time};

/// `VitrineStatus` of the header.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum VitrineStatus {
    Ok = 0,
    BadInput = 1,
    Syntax = 2,
    Render = 3,
    Limit = 4,
    Panic = 5,
}

/// `VitrineBytes` of the header: the parts of a `Vec<u8>`.
#[repr(C)]
#[allow(missing_docs)]
pub struct VitrineBytes {
    pub data: *mut u8,
    pub size: usize,
    pub capacity: usize,
}

/// `VitrineTemplateLimits` of the header.
#[repr(C)]
#[allow(missing_docs)]
pub struct VitrineTemplateLimits {
    pub steps: u64,
    pub depth: u32,
    pub source_bytes: usize,
    pub output_bytes: usize,
}

/// `VitrineTime` of the header.
#[repr(C)]
#[allow(missing_docs)]
pub struct VitrineTime {
    pub year: i32,
    pub month: i32,
    pub day: i32,
    pub hour: i32,
    pub minute: i32,
    pub second: i32,
}

impl VitrineBytes {
    const EMPTY: VitrineBytes = VitrineBytes {
        data: std::ptr::null_mut(),
        size: 0,
        capacity: 0,
    };

    fn from_string(text: String) -> VitrineBytes {
        let mut bytes = std::mem::ManuallyDrop::new(text.into_bytes());
        VitrineBytes {
            data: bytes.as_mut_ptr(),
            size: bytes.len(),
            capacity: bytes.capacity(),
        }
    }
}

impl From<FailureKind> for VitrineStatus {
    fn from(kind: FailureKind) -> VitrineStatus {
        match kind {
            FailureKind::BadInput => VitrineStatus::BadInput,
            FailureKind::Syntax => VitrineStatus::Syntax,
            FailureKind::Render => VitrineStatus::Render,
            FailureKind::Limit => VitrineStatus::Limit,
        }
    }
}

/// Runs `body`; a panic becomes a failure of its own status.
fn guarded<T>(body: impl FnOnce() -> Result<T, Failure>) -> Result<T, (VitrineStatus, String)> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => Err((failure.kind.into(), failure.message)),
        Err(_) => Err((
            VitrineStatus::Panic,
            "the bridge panicked: this is a bug".to_string(),
        )),
    }
}

/// # Safety
/// `data` points to `size` readable bytes, or `size` is 0.
unsafe fn text<'a>(data: *const u8, size: usize, what: &str) -> Result<&'a str, Failure> {
    let bytes = if size == 0 {
        &[]
    } else {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(data, size) }
    };
    std::str::from_utf8(bytes).map_err(|error| {
        Failure::new(
            FailureKind::BadInput,
            format!("{what} is not UTF-8 at byte {}", error.valid_up_to()),
        )
    })
}

/// # Safety
/// `bytes` is null or points to a struct that this library filled, or that is all zero.
#[no_mangle]
pub unsafe extern "C" fn vitrine_bytes_free(bytes: *mut VitrineBytes) {
    // SAFETY: the caller's promise; the parts came from a `Vec<u8>` in `from_string`.
    unsafe {
        if let Some(bytes) = bytes.as_mut() {
            let old = std::mem::replace(bytes, VitrineBytes::EMPTY);
            if !old.data.is_null() {
                drop(Vec::from_raw_parts(old.data, old.size, old.capacity));
            }
        }
    }
}

/// # Safety
/// All pointers are as the header says.
#[no_mangle]
pub unsafe extern "C" fn vitrine_template_compile(
    source: *const u8,
    source_size: usize,
    limits: *const VitrineTemplateLimits,
    compiled: *mut *mut Template,
    error: *mut VitrineBytes,
) -> VitrineStatus {
    let outcome = guarded(|| {
        // SAFETY: the caller's promise.
        let (source, limits) = unsafe { (text(source, source_size, "the template")?, &*limits) };
        Template::compile(
            source,
            Limits {
                steps: limits.steps,
                depth: limits.depth as usize,
                source_bytes: limits.source_bytes,
                output_bytes: limits.output_bytes,
            },
        )
    });
    let (status, handle, message) = match outcome {
        Ok(template) => (
            VitrineStatus::Ok,
            Box::into_raw(Box::new(template)),
            String::new(),
        ),
        Err((status, message)) => (status, std::ptr::null_mut(), message),
    };
    // SAFETY: the caller's promise.
    unsafe {
        compiled.write(handle);
        error.write(VitrineBytes::from_string(message));
    }
    status
}

/// # Safety
/// All pointers are as the header says.
#[no_mangle]
pub unsafe extern "C" fn vitrine_template_render(
    compiled: *const Template,
    variables: *const u8,
    variables_size: usize,
    now: *const VitrineTime,
    output: *mut VitrineBytes,
) -> VitrineStatus {
    let outcome = guarded(|| {
        // SAFETY: the caller's promise.
        let (template, variables, now) = unsafe {
            (
                &*compiled,
                text(variables, variables_size, "the variables")?,
                &*now,
            )
        };
        template.render(
            variables,
            Time {
                year: now.year,
                month: now.month,
                day: now.day,
                hour: now.hour,
                minute: now.minute,
                second: now.second,
            },
        )
    });
    let (status, bytes) = match outcome {
        Ok(rendered) => (VitrineStatus::Ok, rendered),
        Err((status, message)) => (status, message),
    };
    // SAFETY: the caller's promise.
    unsafe { output.write(VitrineBytes::from_string(bytes)) };
    status
}

/// # Safety
/// `compiled` is null or came from `vitrine_template_compile` and is freed once.
#[no_mangle]
pub unsafe extern "C" fn vitrine_template_free(compiled: *mut Template) {
    if !compiled.is_null() {
        // SAFETY: the caller's promise. A panic while dropping would leak, which is better than unwinding into C.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            drop(unsafe { Box::from_raw(compiled) })
        }));
    }
}
