//! Which places of a value are at fault, and why, in words for the model.
//!
//! The validator decides whether a value is valid. This walks an invalid one along the schema: required properties
//! first, then the properties in the order of the schema, then what the schema does not name. A value of the wrong
//! type has no other faults, and of a union only the branch that comes closest is described.

mod scalars;

use std::cell::Cell;

use serde_json::{Map, Value};

use super::coerce::{has_type, type_names};
use super::validator::is_met;

/// Nested schemas that are followed; a reference may lead back to itself.
const MAX_DEPTH: usize = 64;

/// Comparisons of a value with a schema; references in unions may multiply them.
const MAX_CHECKS: usize = 20_000;

/// One place at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Names and indexes from the root, joined by dots.
    path: String,
    message: String,
}

impl Fault {
    pub(super) fn line(&self) -> String {
        let path = match self.path.as_str() {
            "" => "root",
            path => path,
        };
        format!("  - {path}: {}", self.message)
    }
}

/// Returns the faults of a value; empty if the schema is met as far as this understands it.
pub(super) fn faults(schema: &Value, value: &Value) -> Vec<Fault> {
    let checks = Cell::new(0);
    let mut walk = FaultWalk {
        root: schema,
        checks: &checks,
        path: Vec::new(),
        faults: Vec::new(),
    };
    walk.check(schema, value, 0);
    walk.faults
}

struct FaultWalk<'schema, 'walk> {
    root: &'schema Value,
    /// Number of comparisons so far.
    checks: &'walk Cell<usize>,
    path: Vec<String>,
    faults: Vec<Fault>,
}

impl<'schema> FaultWalk<'schema, '_> {
    fn check(&mut self, schema: &'schema Value, value: &Value, depth: usize) {
        self.checks.set(self.checks.get() + 1);
        if depth > MAX_DEPTH || self.checks.get() > MAX_CHECKS {
            return;
        }
        let node = match schema {
            Value::Object(node) => node,
            Value::Bool(false) => return self.report("no value is allowed here"),
            _ => return,
        };
        let types = type_names(schema);
        if !types.is_empty() && !types.iter().any(|name| has_type(value, name)) {
            let expected = types.join(" or ");
            return self.report(format!("expected {expected}, got {}", type_of(value)));
        }
        for message in scalars::faults(node, value) {
            self.report(message);
        }
        match value {
            Value::Object(fields) => self.check_object(node, fields, depth),
            Value::Array(items) => self.check_array(node, items, depth),
            _ => {}
        }
        for nested in list(node, "allOf") {
            self.check(nested, value, depth + 1);
        }
        for keyword in ["anyOf", "oneOf"] {
            self.check_union(list(node, keyword), keyword == "oneOf", value, depth);
        }
        if let Some(excluded) = node.get("not")
            && self.faults_of(excluded, value, depth).is_empty()
        {
            self.report("must not match the schema in not");
        }
        if let Some(reference) = node.get("$ref").and_then(Value::as_str) {
            match self.resolve(reference) {
                Some(target) => self.check(target, value, depth + 1),
                None => self.report(format!("unresolved reference {reference}")),
            }
        }
    }

    fn check_object(
        &mut self,
        node: &'schema Map<String, Value>,
        fields: &Map<String, Value>,
        depth: usize,
    ) {
        let missing = list(node, "required").iter().filter_map(Value::as_str);
        for name in missing.filter(|name| !fields.contains_key(*name)) {
            self.report_at(name, "missing");
        }
        let properties = node.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            if let Some(value) = fields.get(name) {
                self.check_at(name, schema, value, depth);
            }
        }
        let is_named =
            |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
        for (name, value) in fields {
            let by_pattern = pattern_schemas(node, name);
            for schema in &by_pattern {
                self.check_at(name, schema, value, depth);
            }
            if is_named(name) || !by_pattern.is_empty() {
                continue;
            }
            match node.get("additionalProperties") {
                Some(Value::Bool(false)) => self.report_at(name, "unknown field"),
                Some(schema) => self.check_at(name, schema, value, depth),
                None => {}
            }
        }
        if let Some(names) = node.get("propertyNames") {
            for name in fields.keys() {
                if !self
                    .faults_of(names, &Value::String(name.clone()), depth)
                    .is_empty()
                {
                    self.report_at(name, "invalid property name");
                }
            }
        }
    }

    fn check_array(&mut self, node: &'schema Map<String, Value>, items: &[Value], depth: usize) {
        let (first, rest) = match node.get("items") {
            Some(Value::Array(first)) => (first.as_slice(), node.get("additionalItems")),
            rest => (list(node, "prefixItems"), rest),
        };
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(index).or(rest) {
                self.check_at(&index.to_string(), schema, item, depth);
            }
        }
        for message in scalars::item_count_faults(node, items) {
            self.report(message);
        }
    }

    fn check_union(
        &mut self,
        branches: &'schema [Value],
        is_exclusive: bool,
        value: &Value,
        depth: usize,
    ) {
        if branches.is_empty() {
            return;
        }
        let faults: Vec<_> = branches
            .iter()
            .map(|branch| self.faults_of(branch, value, depth))
            .collect();
        let matches = faults.iter().filter(|faults| faults.is_empty()).count();
        if matches > 1 && is_exclusive {
            return self.report("matches more than one alternative");
        }
        if matches > 0 {
            return;
        }
        let constants: Option<Vec<&Value>> =
            branches.iter().map(|branch| branch.get("const")).collect();
        if let Some(constants) = constants {
            return self.report(scalars::expected_one_of(constants.into_iter()));
        }
        // The branch that declares most of the fields, then the one whose first fault is deepest; the first of equals.
        let closeness = |(branch, faults): &(&Value, Vec<Fault>)| {
            let depth = faults.first().map_or(0, |fault| fault.path.len());
            (declared_fields(branch, value), depth)
        };
        let mut closest: Option<(&Value, Vec<Fault>)> = None;
        for candidate in branches.iter().zip(faults) {
            if closest
                .as_ref()
                .is_none_or(|best| closeness(&candidate) > closeness(best))
            {
                closest = Some(candidate);
            }
        }
        self.faults
            .extend(closest.into_iter().flat_map(|(_, faults)| faults));
    }

    /// Returns the faults of a value at the current place without reporting them.
    fn faults_of(&self, schema: &'schema Value, value: &Value, depth: usize) -> Vec<Fault> {
        let mut walk = FaultWalk {
            root: self.root,
            checks: self.checks,
            path: self.path.clone(),
            faults: Vec::new(),
        };
        walk.check(schema, value, depth + 1);
        walk.faults
    }

    fn check_at(&mut self, name: &str, schema: &'schema Value, value: &Value, depth: usize) {
        self.path.push(name.to_owned());
        self.check(schema, value, depth + 1);
        self.path.pop();
    }

    fn report(&mut self, message: impl Into<String>) {
        self.faults.push(Fault {
            path: self.path.join("."),
            message: message.into(),
        });
    }

    fn report_at(&mut self, name: &str, message: &str) {
        self.path.push(name.to_owned());
        self.report(message);
        self.path.pop();
    }

    /// Returns the schema that a reference within this schema leads to.
    fn resolve(&self, reference: &str) -> Option<&'schema Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }
}

/// Returns the schemas whose pattern matches a field name.
pub(super) fn pattern_schemas<'schema>(
    node: &'schema Map<String, Value>,
    name: &str,
) -> Vec<&'schema Value> {
    let patterns = node.get("patternProperties").and_then(Value::as_object);
    let matching = patterns.into_iter().flatten();
    let matching = matching.filter(|(pattern, _)| is_met("pattern", pattern, name));
    matching.map(|(_, schema)| schema).collect()
}

fn list<'schema>(node: &'schema Map<String, Value>, keyword: &str) -> &'schema [Value] {
    node.get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn declared_fields(schema: &Value, value: &Value) -> usize {
    let (Some(properties), Some(fields)) = (
        schema.get("properties").and_then(Value::as_object),
        value.as_object(),
    ) else {
        return 0;
    };
    fields
        .keys()
        .filter(|name| properties.contains_key(*name))
        .count()
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if has_type(value, "integer") => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
