//! Keeps the values of a template small enough to be handled.
//!
//! The engine counts instructions and the bytes it makes, but some of its operations walk whole values for one instruction,
//! and recurse over them: comparing, printing, dropping. Lists added together stay unevaluated, so forty doublings are cheap
//! until someone looks. Therefore every value passes [`own`] when it gets a name (see `source`): lazy sequences become lists,
//! as they are in Python, and what is too deep, too large counted with all repetitions, or part of itself is refused.
//! [`tick`] runs in every loop and macro and ends a render that takes too long all the same.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use minijinja::value::{Tuple, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::python::check_depth;

/// Real templates take a millisecond; this leaves room for a machine that is busy otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(1);

/// The longest text that may get a name.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// The most nodes (and 64-byte pieces of text) of a value, shared parts counted as often as they occur.
const MAX_WEIGHT: u64 = 1_000_000;

/// Looking at this many items costs as much as an instruction.
const ITEMS_PER_STEP: u64 = 8;

/// What is known about a container that lives as long as the render.
#[derive(Clone)]
struct Known {
    owned: Value,
    weight: u64,
    height: usize,
    _alive: Value, // keeps the address from being used again
}

/// The state of one render.
struct Guard {
    started: Instant,
    known: HashMap<usize, Known>,
    unpaid_items: u64,
}

impl Guard {
    fn of<'a>(state: &'a mut State) -> &'a mut Guard {
        state.get_or_insert_extension_with(|| Guard {
            started: Instant::now(),
            known: HashMap::new(),
            unpaid_items: 0,
        })
    }
}

/// Fails once the render has taken too long.
pub fn tick(state: &mut State) -> Result<(), Error> {
    if Guard::of(state).started.elapsed() < TIME_LIMIT {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::OutOfFuel,
        format!("rendering took longer than {} s", TIME_LIMIT.as_secs()),
    ))
}

/// The value as it may be given a name.
pub fn own(state: &mut State, value: Value) -> Result<Value, Error> {
    tick(state)?;
    if is_namespace(&value) {
        return Ok(value);
    }
    own_part(state, &value, 0).map(|part| part.value)
}

/// The value as a namespace may hold it. Without the check a namespace could contain itself.
pub fn own_member(state: &mut State, value: Value) -> Result<Value, Error> {
    tick(state)?;
    own_part(state, &value, 0).map(|part| part.value)
}

/// A value that is ready, with what its container must know.
struct Part {
    value: Value,
    weight: u64,
    height: usize,
    is_new: bool, // not the value that was given
}

impl Part {
    fn leaf(value: &Value, weight: u64) -> Part {
        Part {
            value: value.clone(),
            weight,
            height: 0,
            is_new: false,
        }
    }
}

fn is_namespace(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|object| object.type_name().ends_with("::Namespace"))
}

fn own_part(state: &mut State, value: &Value, depth: usize) -> Result<Part, Error> {
    match value.kind() {
        ValueKind::String => {
            let num_bytes = value.as_str().map_or(0, str::len);
            if num_bytes > MAX_TEXT_BYTES {
                return Err(Error::new(ErrorKind::OutOfFuel, "a text is too long"));
            }
            Ok(Part::leaf(value, 1 + num_bytes as u64 / 64))
        }
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => own_container(state, value, depth),
        _ => Ok(Part::leaf(value, 1)),
    }
}

fn own_container(state: &mut State, value: &Value, depth: usize) -> Result<Part, Error> {
    if is_namespace(value) {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "a namespace cannot be put into another value",
        ));
    }
    let address = address_of(value);
    if let Some(known) = address.and_then(|address| Guard::of(state).known.get(&address)) {
        check_depth(depth + known.height)?;
        return Ok(Part {
            value: known.owned.clone(),
            weight: known.weight,
            height: known.height,
            is_new: address_of(&known.owned) != address,
        });
    }
    check_depth(depth)?;
    let part = match value.as_object() {
        Some(object) if value.kind() == ValueKind::Map => {
            match object.downcast_ref::<IndexMap<Value, Value>>() {
                Some(map) => own_map(state, value, map, depth)?,
                None => return Ok(Part::leaf(value, 1)),
            }
        }
        _ => own_sequence(state, value, depth, address.is_none())?,
    };
    if part.weight > MAX_WEIGHT {
        return Err(Error::new(ErrorKind::OutOfFuel, "a value is too large"));
    }
    remember(state, value, &part);
    Ok(part)
}

/// Where a list, a dict or a tuple lies; `None` for sequences that are made while they are read.
fn address_of(value: &Value) -> Option<usize> {
    let object = value.as_object()?;
    if let Some(list) = object.downcast_ref::<Vec<Value>>() {
        return Some(std::ptr::from_ref(list) as usize);
    }
    if let Some(map) = object.downcast_ref::<IndexMap<Value, Value>>() {
        return Some(std::ptr::from_ref(map) as usize);
    }
    let tuple = object.downcast_ref::<Tuple>()?;
    Some(std::ptr::from_ref(tuple) as usize)
}

fn remember(state: &mut State, given: &Value, part: &Part) {
    for value in [given, &part.value] {
        if let Some(address) = address_of(value) {
            let known = Known {
                owned: part.value.clone(),
                weight: part.weight,
                height: part.height,
                _alive: value.clone(),
            };
            Guard::of(state).known.insert(address, known);
        }
    }
}

/// Pays for looking at one more item.
pub fn pay_item(state: &mut State) -> Result<(), Error> {
    let guard = Guard::of(state);
    guard.unpaid_items += 1;
    if guard.unpaid_items < ITEMS_PER_STEP {
        return Ok(());
    }
    guard.unpaid_items = 0;
    state.consume_fuel(1)
}

fn own_sequence(
    state: &mut State,
    value: &Value,
    depth: usize,
    is_lazy: bool,
) -> Result<Part, Error> {
    let mut whole = Part::leaf(value, 1);
    whole.is_new = is_lazy;
    let mut items = Vec::new();
    for item in value.try_iter()?.checked() {
        pay_item(state)?;
        let part = own_part(state, &item?, depth + 1)?;
        whole.add(&part);
        items.push(part.value);
    }
    if whole.is_new {
        whole.value = if value.is_tuple() {
            Value::from(Tuple::from(items))
        } else {
            Value::from(items)
        };
    }
    Ok(whole)
}

fn own_map(
    state: &mut State,
    value: &Value,
    map: &IndexMap<Value, Value>,
    depth: usize,
) -> Result<Part, Error> {
    let mut whole = Part::leaf(value, 1);
    let mut members = Vec::with_capacity(map.len());
    for (key, member) in map {
        pay_item(state)?;
        let key = own_part(state, key, depth + 1)?;
        let part = own_part(state, member, depth + 1)?;
        whole.add(&key);
        whole.add(&part);
        members.push((key.value, part.value));
    }
    if whole.is_new {
        whole.value = Value::from_pairs(members);
    }
    Ok(whole)
}

impl Part {
    fn add(&mut self, child: &Part) {
        self.weight = self.weight.saturating_add(child.weight);
        self.height = self.height.max(child.height + 1);
        self.is_new |= child.is_new;
    }
}
