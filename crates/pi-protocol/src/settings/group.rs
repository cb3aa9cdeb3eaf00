//! Deserializes groups of settings.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// Deserializes a group; `null` is an empty group.
pub(super) fn group<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Group::deserialize(deserializer).map(|Group(group)| group)
}

/// Deserializes a map of named groups.
pub(super) fn groups<'de, D, T>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    let groups: BTreeMap<String, Group<T>> = group(deserializer)?;
    let groups = groups.into_iter();
    Ok(groups.map(|(name, Group(group))| (name, group)).collect())
}

/// Deserializes a struct from an object only. By default, serde also accepts a list of field values.
struct Group<T>(T);

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for Group<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GroupVisitor(PhantomData))
    }
}

struct GroupVisitor<T>(PhantomData<T>);

impl<'de, T: Default + Deserialize<'de>> Visitor<'de> for GroupVisitor<T> {
    type Value = Group<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Group(T::default()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Group)
    }
}
