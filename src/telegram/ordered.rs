//! JSON as it is stored: read once, with the keys of each object in order, and written back. The same content gives the
//! same text, whatever the order it came in.
//!
//! What is read stays in the text it came in wherever it can: intake reads every update, and a tree of owned values would
//! cost more than storing it.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor},
    ser::{SerializeMap as _, SerializeSeq as _},
};
use serde_json::Number;

/// A value whose objects have their keys in order.
#[derive(Debug)]
pub(super) enum Ordered<'t> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'t, str>),
    List(Vec<Self>),
    Object(Vec<(Cow<'t, str>, Self)>),
}

impl<'t> Ordered<'t> {
    /// A member of an object.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// A whole number that fits.
    pub(super) fn number(&self) -> Option<i64> {
        if let Self::Number(number) = self { number.as_i64() } else { None }
    }

    /// The members of an object, in order.
    pub(super) fn members(&self) -> &[(Cow<'t, str>, Self)] {
        if let Self::Object(members) = self { members } else { &[] }
    }

    /// Its text; `size` is about how long it will be.
    pub(super) fn text(&self, size: usize) -> String {
        let mut text = Vec::with_capacity(size);
        // Writing to memory does not fail, and what is written is UTF-8: it is made of texts.
        if serde_json::to_writer(&mut text, self).is_err() {
            text.clear();
        }
        String::from_utf8(text).unwrap_or_default()
    }
}

impl<'t> Deserialize<'t> for Ordered<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

impl<'t> Visitor<'t> for Reading {
    type Value = Ordered<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Ordered::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Ordered::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Ordered::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Ordered::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(value).map_or(Ordered::Null, Ordered::Number))
    }

    fn visit_borrowed_str<E>(self, value: &'t str) -> Result<Self::Value, E> {
        Ok(Ordered::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Ordered::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            list.push(element);
        }
        Ok(Ordered::List(list))
    }

    fn visit_map<A: MapAccess<'t>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut members: Vec<(Cow<'t, str>, Ordered<'t>)> = Vec::with_capacity(8);
        while let Some((Key(key), value)) = entries.next_entry()? {
            members.push((key, value));
        }
        members.sort_by(|(one, _), (other, _)| one.cmp(other));
        // Of a key that comes twice the last value counts, as everywhere.
        members.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(&mut later.1, &mut earlier.1);
            }
            same
        });
        Ok(Ordered::Object(members))
    }
}

struct Key<'t>(Cow<'t, str>);

impl<'t> Deserialize<'t> for Key<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'t> Visitor<'t> for Text {
            type Value = Key<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, value: &'t str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(value)))
            }

            fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(value.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(value) => value.serialize(serializer),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(elements) => {
                let mut list = serializer.serialize_seq(Some(elements.len()))?;
                for element in elements {
                    list.serialize_element(element)?;
                }
                list.end()
            }
            Self::Object(members) => {
                let mut object = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    object.serialize_entry(key, value)?;
                }
                object.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn ordered(text: &str) -> String {
        serde_json::from_str::<Ordered<'_>>(text).map(|value| value.text(text.len())).unwrap_or_default()
    }

    /// Any JSON, keys of an object in any order and more than once.
    fn json() -> impl Strategy<Value = String> {
        let text = any::<String>().prop_map(|text| Value::from(text).to_string());
        let leaf = prop_oneof![
            Just("null".to_owned()),
            any::<bool>().prop_map(|value| value.to_string()),
            any::<i64>().prop_map(|value| value.to_string()),
            any::<u64>().prop_map(|value| value.to_string()),
            any::<f64>().prop_filter("JSON has none", |value| value.is_finite()).prop_map(|value| format!("{value:e}")),
            text.clone(),
            Just(r#""\u0041\ud83d\ude00\/\n""#.to_owned()),
        ];
        leaf.prop_recursive(4, 64, 6, move |inner| {
            let key = prop_oneof![text.clone(), "[a-c]".prop_map(|key| format!("\"{key}\""))];
            let members = prop::collection::vec((key, inner.clone()), 0..6);
            prop_oneof![
                prop::collection::vec(inner, 0..6).prop_map(|list| format!("[{}]", list.join(" , "))),
                members.prop_map(|members| {
                    let members: Vec<_> = members.iter().map(|(key, value)| format!("{key}:\t{value}")).collect();
                    format!("{{ {} }}", members.join(",\n"))
                }),
            ]
        })
    }

    proptest! {
        /// Rows that an earlier release stored were written by the library: a repeat must be known by the same text.
        #[test]
        fn the_text_is_the_one_the_library_writes(text in json()) {
            let value: Value = serde_json::from_str(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(ordered(&text), value.to_string());
        }
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "[1,]", r#"{"a":}"#, r#"{1:2}"#, r#""\ud800""#, "1e999", &"[".repeat(300)] {
            assert!(serde_json::from_str::<Ordered<'_>>(text).is_err(), "{text}");
        }
    }
}
