//! Compares the declared calls with the JavaScript sources, in both directions.

mod field_names;
mod sources;

use std::collections::{BTreeMap, BTreeSet};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::group::{DeclaredCall, Parameters};
use super::*;
use crate::callbacks::CALLBACK_NAMES;
use crate::handlers::Caller;
pub(super) use field_names::field_names;
use sources::{MadeCall, made_calls, sources};

fn declared() -> Vec<&'static DeclaredCall> {
    type Handlers = Caller<'static>;
    let groups = [
        <Handlers as AgentCalls>::DECLARED,
        <Handlers as AgentRunCalls>::DECLARED,
        <Handlers as BuiltinCalls>::DECLARED,
        <Handlers as JobCalls>::DECLARED,
        <Handlers as MessageCalls>::DECLARED,
        <Handlers as ModelCalls>::DECLARED,
        <Handlers as ProgramCalls>::DECLARED,
        <Handlers as RegistrationCalls>::DECLARED,
        <Handlers as ReplacementCalls>::DECLARED,
        <Handlers as RunCalls>::DECLARED,
        <Handlers as ScreenCalls>::DECLARED,
        <Handlers as SelectionCalls>::DECLARED,
        <Handlers as SessionCalls>::DECLARED,
        <Handlers as SessionFileCalls>::DECLARED,
        <Handlers as SessionWriteCalls>::DECLARED,
        <Handlers as SignInCalls>::DECLARED,
        <Handlers as UiCalls>::DECLARED,
        <Handlers as UtilityCalls>::DECLARED,
    ];
    groups.into_iter().flatten().collect()
}

#[test]
fn javascript_makes_exactly_the_declared_calls() {
    let declared = declared();
    let names: BTreeSet<_> = declared.iter().map(|call| (call.name, call.mode)).collect();
    assert_eq!(names.len(), declared.len(), "a call is declared twice");
    let made = made_calls();
    let made: BTreeSet<_> = made
        .iter()
        .map(|call| (call.name.as_str(), call.mode))
        .collect();
    assert_eq!(made, names);
}

/// Returns the parameters of a call; `None` if they depend on a tag.
fn parameters_of(call: &DeclaredCall) -> Option<BTreeSet<&'static str>> {
    let mut names = BTreeSet::new();
    for (name, members) in call.parameters {
        match *name {
            "..." => names.extend(members()?),
            name => {
                names.insert(name);
            }
        }
    }
    Some(names)
}

#[test]
fn javascript_passes_exactly_the_declared_parameters() {
    let mut sites: BTreeMap<String, Vec<MadeCall>> = BTreeMap::new();
    for call in made_calls() {
        sites.entry(call.name.clone()).or_default().push(call);
    }
    let mut problems = Vec::new();
    for call in declared() {
        let Some(parameters) = parameters_of(call) else {
            continue;
        };
        let mut unused = parameters.clone();
        let mut is_open = false;
        for site in sites.get(call.name).into_iter().flatten() {
            is_open |= site.is_open;
            for name in &site.parameters {
                unused.remove(name.as_str());
                if !parameters.contains(name.as_str()) {
                    problems.push(format!(
                        "{} passes `{name}` to {}, which has no such parameter",
                        site.file, call.name
                    ));
                }
            }
        }
        if !is_open && !unused.is_empty() {
            problems.push(format!("nothing passes {unused:?} to {}", call.name));
        }
    }
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn every_callback_has_a_function_in_javascript() {
    let sources = sources();
    for name in CALLBACK_NAMES {
        let is_defined = sources.iter().any(|(_, source)| {
            let mut forms = [
                format!("{name}: "),
                format!("async {name}("),
                format!("const {name} = ("),
            ]
            .into_iter();
            forms.any(|form| source.contains(&form))
        });
        assert!(is_defined, "no JavaScript function for the callback {name}");
    }
}

#[test]
fn calls_that_the_engine_routes_are_declared() {
    let declared = declared();
    for name in [pi_ext::EVENTS_CALL, pi_ext::SCREEN_CALL] {
        assert!(declared.iter().any(|call| call.name == name), "{name}");
    }
}

#[test]
fn errors_name_the_call_and_the_parameter() {
    let parse = |arguments: Value| {
        let mut parameters = Parameters::from(arguments);
        parameters.take::<String>("session.setName", "name")
    };
    assert_eq!(parse(json!({ "name": "n" })), Ok("n".to_owned()));
    let error = parse(json!({ "name": 1 })).unwrap_err().message;
    assert_eq!(
        error,
        "session.setName: name: invalid type: integer `1`, expected a string"
    );
    let error = parse(Value::Null).unwrap_err().message;
    assert_eq!(
        error,
        "session.setName: name: invalid type: null, expected a string"
    );
}

#[test]
fn parameters_with_a_default_may_be_absent_and_the_rest_is_taken_together() {
    let mut parameters = Parameters::from(json!({ "a": 1, "b": 2, "c": null }));
    assert_eq!(parameters.take_or("x.y", "c", 7), Ok(7));
    assert_eq!(parameters.take_or("x.y", "d", 8), Ok(8));
    assert_eq!(parameters.take::<u64>("x.y", "a"), Ok(1));
    assert_eq!(
        parameters.take::<Value>("x.y", "..."),
        Ok(json!({ "b": 2 }))
    );
}
