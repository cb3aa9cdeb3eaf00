//! Validates tool arguments against the tool's schema, after coercing common mistakes of models.
//!
//! Models send numbers as strings, `null` for omitted values, and booleans as words. Where the
//! schema makes the meaning clear, such values are coerced; every other violation is reported to
//! the model with its path.

mod coerce;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use pi_protocol::Tool as ToolDeclaration;
use pi_protocol::json::JsonObject;
use serde_json::Value;
use thiserror::Error;

/// Arguments that do not match the schema, with a message for the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("Validation failed for tool \"{tool}\":\n{violations}\n\nReceived arguments:\n{received}")]
pub struct ArgumentError {
    tool: String,
    violations: String,
    received: String,
}

/// Compiled schemas by tool, since a tool is called many times.
#[derive(Debug, Default)]
pub(crate) struct Validators(Mutex<HashMap<String, CompiledSchema>>);

#[derive(Debug)]
struct CompiledSchema {
    schema: Value,
    validator: Arc<Validator>,
}

impl Validators {
    /// Coerces the arguments and validates them.
    pub(crate) fn check(
        &self,
        tool: &ToolDeclaration,
        arguments: JsonObject,
    ) -> Result<JsonObject, ArgumentError> {
        // An invalid schema is the tool's bug; its arguments are passed through unchecked.
        let validator = self.compiled(tool).inspect_err(|error| {
            tracing::warn!(tool = tool.name, %error, "cannot compile tool schema");
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

/// Coerces the arguments of one call and validates them.
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
    let coerced = coerce::coerce(received.clone(), &tool.parameters);
    let violations = validator.map_or_else(Vec::new, |validator| violations(&coerced, validator));
    match coerced {
        Value::Object(arguments) if violations.is_empty() => Ok(arguments),
        _ => Err(ArgumentError {
            tool: tool.name.clone(),
            violations: violations.join("\n"),
            received: serde_json::to_string_pretty(&received).unwrap_or_default(),
        }),
    }
}

fn violations(value: &Value, validator: &Validator) -> Vec<String> {
    validator
        .iter_errors(value)
        .map(|error| {
            let mut path = error
                .instance_path()
                .as_str()
                .trim_start_matches('/')
                .replace('/', ".");
            if let ValidationErrorKind::Required { property } = error.kind() {
                let property = property.as_str().unwrap_or_default();
                path = if path.is_empty() {
                    property.to_owned()
                } else {
                    format!("{path}.{property}")
                };
            }
            if path.is_empty() {
                "root".clone_into(&mut path);
            }
            format!("  - {path}: {}", describe_violation(&error))
        })
        .collect()
}

/// Describes a violation. A value of the wrong type is not repeated: it may be long, and the
/// arguments follow below.
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
    fn a_type_error_does_not_repeat_the_value() {
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
    fn a_schema_is_compiled_once_until_it_changes() {
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
    fn unambiguous_values_are_coerced() {
        for (given, coerced) in [
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
            assert_eq!(check(schema(), given.clone()), Ok(coerced), "{given}");
        }
    }

    #[test]
    fn other_violations_are_reported_with_their_path() {
        for (given, path) in [
            (json!({}), "  - path: "),
            (json!({"path": null}), "  - path: "),
            (json!({"path": ["a"]}), "  - path: "),
            (json!({"path": "a", "limit": "two"}), "  - limit: "),
            (json!({"path": "a", "count": 1.5}), "  - count: "),
            (json!({"path": "a", "edits": [{}]}), "  - edits.0.new: "),
        ] {
            let error = check(schema(), given.clone()).unwrap_err();
            assert!(error.contains(path), "{given}: {error}");
            assert!(error.contains("\"probe\""), "{error}");
        }
    }

    #[test]
    fn arguments_pass_if_the_schema_is_invalid() {
        let broken = json!({"type": "no such type"});
        assert_eq!(check(broken, json!({"a": 1})), Ok(json!({"a": 1})));
    }
}
