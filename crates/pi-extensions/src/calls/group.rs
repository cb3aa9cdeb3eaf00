//! Declares groups of calls: the macro, and what its expansion uses.

use std::future::Future;
use std::marker::PhantomData;

use pi_ext::{HostError, HostFuture};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Name of a parameter that takes all remaining members: JavaScript spreads them into the call.
const REST: &str = "...";

/// The parameters of a call that were not parsed yet.
pub(crate) struct Parameters(Map<String, Value>);

impl From<Value> for Parameters {
    fn from(arguments: Value) -> Self {
        match arguments {
            Value::Object(members) => Self(members),
            _ => Self(Map::new()),
        }
    }
}

impl Parameters {
    /// Parses a parameter; an absent one is null.
    pub(super) fn take<Data: DeserializeOwned>(
        &mut self,
        call: &str,
        name: &str,
    ) -> Result<Data, HostError> {
        let value = if name == REST {
            Value::Object(std::mem::take(&mut self.0))
        } else {
            self.0.remove(name).unwrap_or_default()
        };
        parse(call, name, &value)
    }

    /// Parses a parameter with a default.
    pub(super) fn take_or<Data: DeserializeOwned>(
        &mut self,
        call: &str,
        name: &str,
        default: Data,
    ) -> Result<Data, HostError> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => parse(call, name, &value),
        }
    }
}

fn parse<Data: DeserializeOwned>(call: &str, name: &str, value: &Value) -> Result<Data, HostError> {
    pi_protocol::json::from_value(value).map_err(|error| {
        HostError::new(match name {
            REST => format!("{call}: {error}"),
            _ => format!("{call}: {name}: {error}"),
        })
    })
}

/// The result of a request, which JavaScript awaits.
pub(crate) struct Pending<Data> {
    pub(super) future: HostFuture,
    result: PhantomData<Data>,
}

impl<Data: Serialize + 'static> Pending<Data> {
    /// Work that is dropped when JavaScript cancels the request.
    pub(crate) fn new(
        work: impl Future<Output = Result<Data, HostError>> + Send + 'static,
    ) -> Self {
        Self::from_json(Box::pin(async move { to_json(work.await?) }))
    }

    /// Work whose result is already serialized.
    pub(crate) fn from_json(future: HostFuture) -> Self {
        Self {
            future,
            result: PhantomData,
        }
    }
}

/// What a handler returns to JavaScript.
pub(crate) enum Answer {
    Now(Result<Value, HostError>),
    Later(HostFuture),
}

impl Answer {
    pub(super) fn now(result: Result<impl Serialize, HostError>) -> Self {
        Self::Now(result.and_then(to_json))
    }

    pub(super) fn later<Data>(result: Result<Pending<Data>, HostError>) -> Self {
        Self::Later(match result {
            Ok(pending) => pending.future,
            Err(error) => Box::pin(std::future::ready(Err(error))),
        })
    }
}

pub(crate) fn to_json(value: impl Serialize) -> Result<Value, HostError> {
    serde_json::to_value(value).map_err(|error| HostError::new(error.to_string()))
}

/// Returns the members of a parameter's type; `None` if it is not a struct.
#[cfg(test)]
type FieldNames = fn() -> Option<&'static [&'static str]>;

/// A declared call, for the comparison with the JavaScript sources.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct DeclaredCall {
    pub(super) name: &'static str,
    /// `call` or `request`, the JavaScript function it is made with.
    pub(super) mode: &'static str,
    /// Names, and the members of a parameter that takes the rest.
    pub(super) parameters: &'static [(&'static str, FieldNames)],
}

/// Declares a group of calls.
///
/// ```text
/// call    "area.name" => method(parameter: Type) -> Result;      // JavaScript waits for the result
/// request "area.name" => method(parameter: Type) -> Result;      // JavaScript gets a promise
/// ```
///
/// A parameter whose name differs in JavaScript is declared as `rust_name as "jsName": Type`, one
/// with a default as `name: Type = default`. `value as "...": Type` takes all other members.
macro_rules! calls {
    (
        $(#[$group_meta:meta])*
        trait $group:ident {
            $(
                $(#[$meta:meta])*
                $mode:ident $name:literal => $method:ident(
                    $( $field:ident $(as $wire:literal)? : $type:ty $(= $default:expr)? ),* $(,)?
                ) $(-> $reply:ty)? ;
            )*
        }
    ) => {
        $(#[$group_meta])*
        pub(crate) trait $group {
            #[cfg(test)]
            const DECLARED: &'static [$crate::calls::group::DeclaredCall] = &[$(
                $crate::calls::group::DeclaredCall {
                    name: $name,
                    mode: stringify!($mode),
                    parameters: &[$(
                        (
                            $crate::calls::group::wire_name!($field $(, $wire)?),
                            $crate::calls::tests::field_names::<$type>,
                        ),
                    )*],
                },
            )*];

            $(
                $(#[$meta])*
                fn $method(&self $(, $field: $type)*)
                    -> $crate::calls::group::reply!($mode $(, $reply)?);
            )*

            /// Parses the parameters of a call of this group and handles it; `None` if the name
            /// belongs to another group.
            fn answer(
                &self,
                name: &str,
                parameters: &mut $crate::calls::group::Parameters,
            ) -> Result<Option<$crate::calls::group::Answer>, pi_ext::HostError> {
                Ok(Some(match name {
                    $(
                        $name => {
                            $(
                                let $field = $crate::calls::group::parameter!(
                                    parameters, $name,
                                    $crate::calls::group::wire_name!($field $(, $wire)?)
                                    $(, $default)?
                                );
                            )*
                            $crate::calls::group::answer!(
                                $mode, self.$method($($field),*)
                            )
                        }
                    )*
                    _ => return Ok(None),
                }))
            }
        }
    };
}

macro_rules! wire_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident, $wire:literal) => {
        $wire
    };
}

macro_rules! reply {
    (call) => { Result<(), pi_ext::HostError> };
    (call, $reply:ty) => { Result<$reply, pi_ext::HostError> };
    (request) => { Result<$crate::calls::group::Pending<()>, pi_ext::HostError> };
    (request, $reply:ty) => {
        Result<$crate::calls::group::Pending<$reply>, pi_ext::HostError>
    };
}

macro_rules! parameter {
    ($parameters:ident, $call:expr, $name:expr) => {
        $parameters.take($call, $name)?
    };
    ($parameters:ident, $call:expr, $name:expr, $default:expr) => {
        $parameters.take_or($call, $name, $default)?
    };
}

macro_rules! answer {
    (call, $result:expr) => {
        $crate::calls::group::Answer::now($result)
    };
    (request, $result:expr) => {
        $crate::calls::group::Answer::later($result)
    };
}

pub(super) use {answer, calls, parameter, reply, wire_name};
