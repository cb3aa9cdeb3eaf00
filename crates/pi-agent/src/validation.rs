//! Checks tool arguments against the tool's schema, after mending what models commonly get wrong.
//!
//! Models send numbers as strings, `null` for what they leave out, booleans as words. The schema
//! says what was meant, so such values are coerced; everything else is told to the model, with the
//! place of each fault.

mod coerce;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use pi_ai::Tool as ToolDeclaration;
use pi_ai::json::JsonObject;
use serde_json::Value;
use thiserror::Error;

/// Arguments that do not fit the schema, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("Validation failed for tool \"{tool}\":\n{faults}\n\nReceived arguments:\n{received}")]
pub struct ArgumentError {
    tool: String,
    faults: String,
    received: String,
}

/// Schemas that are ready to check with, by tool: a tool is called again and again.
#[derive(Debug, Default)]
pub(crate) struct Validators(Mutex<HashMap<String, CompiledSchema>>);

#[derive(Debug)]
struct CompiledSchema {
    schema: Value,
    validator: Arc<Validator>,
}

impl Validators {
    /// Mends the arguments and checks them.
    pub(crate) fn check(
        &self,
        tool: &ToolDeclaration,
        arguments: JsonObject,
    ) -> Result<JsonObject, ArgumentError> {
        // A schema nobody can check is the tool's defect; its arguments pass as they are.
        let validator = self.compiled(tool).inspect_err(|error| {
            tracing::warn!(tool = tool.name, %error, "tool schema cannot be compiled");
        });
        check_with(validator.ok().as_deref(), tool, arguments)
    }

    fn compiled(&self, tool: &ToolDeclaration) -> Result<Arc<Validator>, String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = known.get(&tool.name)
            && compiled.schema == tool.parameters
        {
            return Ok(Arc::clone(&compiled.validator));
        }
        let validator = jsonschema::validator_for(&tool.parameters);
        let validator = Arc::new(validator.map_err(|error| error.to_string())?);
        let compiled = CompiledSchema {
            schema: tool.parameters.clone(),
            validator: Arc::clone(&validator),
        };
        known.insert(tool.name.clone(), compiled);
        Ok(validator)
    }
}

/// Mends the arguments of one call and checks them.
pub fn validate_arguments(
    tool: &ToolDeclaration,
    arguments: JsonObject,
) -> Result<JsonObject, ArgumentError> {
    Validators::default().check(tool, arguments)
}

fn check_with(
    validator: Option<&Validator>,
    tool: &ToolDeclaration,
    arguments: JsonObject,
) -> Result<JsonObject, ArgumentError> {
    let received = Value::Object(arguments);
    let mended = coerce::coerce(received.clone(), &tool.parameters);
    let faults = validator.map_or_else(Vec::new, |validator| faults(&mended, validator));
    match mended {
        Value::Object(arguments) if faults.is_empty() => Ok(arguments),
        _ => Err(ArgumentError {
            tool: tool.name.clone(),
            faults: faults.join("\n"),
            received: serde_json::to_string_pretty(&received).unwrap_or_default(),
        }),
    }
}

fn faults(value: &Value, validator: &Validator) -> Vec<String> {
    validator
        .iter_errors(value)
        .map(|error| {
            let mut place = error
                .instance_path()
                .as_str()
                .trim_start_matches('/')
                .replace('/', ".");
            if let ValidationErrorKind::Required { property } = error.kind() {
                let property = property.as_str().unwrap_or_default();
                place = if place.is_empty() {
                    property.to_owned()
                } else {
                    format!("{place}.{property}")
                };
            }
            if place.is_empty() {
                "root".clone_into(&mut place);
            }
            format!("  - {place}: {}", describe_violation(&error))
        })
        .collect()
}

/// Says what is wrong. A value of the wrong type is not repeated: it may be long, and the arguments
/// follow below.
fn describe_violation(error: &ValidationError<'_>) -> String {
    let ValidationErrorKind::Type { kind } = error.kind() else {
        return error.to_string();
    };
    let types: Vec<String> = match kind {
        TypeKind::Single(one) => vec![one.to_string()],
        TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect(),
    };
    format!("must be {}", types.join(" or "))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn check(schema: Value, arguments: Value) -> Result<Value, String> {
        let tool = ToolDeclaration {
            name: "probe".into(),
            description: String::new(),
            parameters: schema,
            constrained_sampling: None,
            extra: JsonObject::new(),
        };
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        validate_arguments(&tool, arguments)
            .map(Value::Object)
            .map_err(|error| error.to_string())
    }

    fn schema() -> Value {
        json!({"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string"}, "limit": {"type": "number"}, "count": {"type": "integer"},
            "all": {"type": "boolean"}, "maybe": {"type": ["string", "null"]},
            "either": {"anyOf": [{"type": "number"}, {"type": "boolean"}]},
            "edits": {"type": "array", "items": {"type": "object", "required": ["new"],
                "properties": {"new": {"type": "string"}}}}
        }})
    }

    #[test]
    fn a_value_of_the_wrong_type_is_named_and_not_repeated_in_the_fault() {
        for (arguments, fault) in [
            (json!({"path": ["ls"]}), "  - path: must be string"),
            (
                json!({"path": "a", "maybe": [1]}),
                "  - maybe: must be null or string",
            ),
        ] {
            let error = check(schema(), arguments).unwrap_err();
            assert_eq!(error.lines().nth(1), Some(fault), "{error}");
        }
    }

    #[test]
    fn a_schema_is_compiled_once_and_again_when_it_changes() {
        let validators = Validators::default();
        let tool = |parameters: Value| ToolDeclaration {
            name: "probe".into(),
            description: String::new(),
            parameters,
            constrained_sampling: None,
            extra: JsonObject::new(),
        };
        let (old, new) = (tool(schema()), tool(json!({"type": "object"})));
        assert!(validators.check(&old, JsonObject::new()).is_err());
        let first = validators.compiled(&old).unwrap();
        assert!(Arc::ptr_eq(&first, &validators.compiled(&old).unwrap()));
        assert!(validators.check(&new, JsonObject::new()).is_ok());
        assert!(validators.check(&old, JsonObject::new()).is_err());
    }

    #[test]
    fn plain_meanings_are_coerced() {
        for (given, mended) in [
            (json!({"path": 5}), json!({"path": "5"})),
            (json!({"path": true}), json!({"path": "true"})),
            (
                json!({"path": "a", "limit": " 2.5 "}),
                json!({"path": "a", "limit": 2.5}),
            ),
            (
                json!({"path": "a", "limit": true}),
                json!({"path": "a", "limit": 1}),
            ),
            (
                json!({"path": "a", "count": "3"}),
                json!({"path": "a", "count": 3}),
            ),
            (
                json!({"path": "a", "all": "true"}),
                json!({"path": "a", "all": true}),
            ),
            (
                json!({"path": "a", "all": 0}),
                json!({"path": "a", "all": false}),
            ),
            (json!({"path": "a", "limit": null}), json!({"path": "a"})),
            (
                json!({"path": "a", "maybe": null}),
                json!({"path": "a", "maybe": null}),
            ),
            (
                json!({"path": "a", "either": "true"}),
                json!({"path": "a", "either": true}),
            ),
            (
                json!({"path": "a", "edits": [{"new": 7}]}),
                json!({"path": "a", "edits": [{"new": "7"}]}),
            ),
            (
                json!({"path": "a", "extra": {"kept": 1}}),
                json!({"path": "a", "extra": {"kept": 1}}),
            ),
        ] {
            assert_eq!(check(schema(), given.clone()), Ok(mended), "{given}");
        }
    }

    #[test]
    fn every_other_fault_is_told_with_its_place() {
        for (given, place) in [
            (json!({}), "  - path: "),
            (json!({"path": null}), "  - path: "),
            (json!({"path": ["a"]}), "  - path: "),
            (json!({"path": "a", "limit": "two"}), "  - limit: "),
            (json!({"path": "a", "count": 1.5}), "  - count: "),
            (json!({"path": "a", "edits": [{}]}), "  - edits.0.new: "),
        ] {
            let error = check(schema(), given.clone()).unwrap_err();
            assert!(error.contains(place), "{given}: {error}");
            assert!(error.contains("\"probe\""), "{error}");
        }
    }

    #[test]
    fn a_broken_schema_lets_arguments_pass() {
        let broken = json!({"type": "no such type"});
        assert_eq!(check(broken, json!({"a": 1})), Ok(json!({"a": 1})));
    }
}
