//! The Rust libraries that Vitrine uses, behind the C interface of `include/vitrine_bridge.h`.
//!
//! [`template`] is safe Rust; [`ffi`] alone holds `unsafe` code.

pub mod ffi;
pub mod template;
