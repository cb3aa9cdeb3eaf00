//! The description of the routes of `pi serve`, with the schemas of the protocol as components.

use serde_json::{Map, Value};

/// The routes, which are kept by hand.
const ROUTES: &str = include_str!("../../../pi-serve/src/openapi_routes.json");

/// The schemas that routes refer to.
const COMPONENTS: [&str; 5] = ["answer", "command", "entry", "request", "snapshot"];

/// Where the result is stored, relative to `docs/schema`.
pub(super) const FILE: &str = "../../crates/pi-serve/src/openapi.json";

/// Adds the schemas to the routes.
pub(super) fn document(schemas: &[(&'static str, Value)]) -> String {
    let mut document: Value = serde_json::from_str(ROUTES).unwrap();
    let components = document.pointer_mut("/components/schemas");
    let components = components.and_then(Value::as_object_mut).unwrap();
    for (_, schema) in schemas.iter().filter(|(name, _)| COMPONENTS.contains(name)) {
        add(components, schema.clone());
    }
    format!("{document}\n")
}

/// Adds a schema and its definitions.
fn add(components: &mut Map<String, Value>, schema: Value) {
    let Value::Object(mut schema) = schema else {
        panic!("a schema is an object");
    };
    schema.shift_remove("$schema");
    let Some(Value::String(title)) = schema.shift_remove("title") else {
        panic!("a schema has a title");
    };
    let definitions = match schema.shift_remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    let mut all = vec![(title.clone(), Value::Object(schema))];
    all.extend(definitions);
    for (name, mut definition) in all {
        redirect(&mut definition, &title);
        if let Some(known) = components.get(&name) {
            assert_eq!(*known, definition, "two definitions of {name}");
        }
        components.insert(name, definition);
    }
}

/// Lets references point to the components. `title` is the name of the schema that `#` refers to.
fn redirect(value: &mut Value, title: &str) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(target) if name == "$ref" => {
                        let name = target.strip_prefix("#/$defs/").unwrap_or(title);
                        *target = format!("#/components/schemas/{name}");
                    }
                    field => redirect(field, title),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, title)),
        _ => {}
    }
}
