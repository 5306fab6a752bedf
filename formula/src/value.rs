//! The values that a formula computes with.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A value. It has the natural form in JSON; `null` is not a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// True or false.
    Bool(bool),
    /// A number; one that is not finite stops the evaluation that meets it.
    Number(f64),
    /// Text.
    Text(String),
    /// A list, of one type as far as the type is known.
    List(Vec<Value>),
    /// Fields by name.
    Record(BTreeMap<String, Value>),
}

impl Value {
    /// The name of its kind, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Record(_) => "a record",
        }
    }

    /// The cost of copying or comparing it, in steps: one for every value in it and one for 16 bytes of text.
    pub(crate) fn weight(&self) -> usize {
        let inner = match self {
            Self::Bool(_) | Self::Number(_) => 0,
            Self::Text(text) => text.len() / 16,
            Self::List(items) => items.iter().map(Self::weight).sum(),
            Self::Record(fields) => fields.values().map(Self::weight).sum(),
        };
        inner.saturating_add(1)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<K: Into<String>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Value {
    fn from(fields: [(K, V); N]) -> Self {
        let fields = fields
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        Self::Record(fields.collect())
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("true or false, a number, text, a list or a record")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "a number of a formula is an f64"
    )]
    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "a number of a formula is an f64"
    )]
    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, value)) = from.next_entry()? {
            fields.insert(name, value);
        }
        Ok(Value::Record(fields))
    }
}
