//! Forms of imports, exports and TypeScript syntax, with the values they have in the TypeScript pi 1.5.0.
//!
//! `fixtures/module_forms.json` has the files of each form; `form.ts` exports the value. A row with `reference` differs
//! deliberately: a name that a builtin module lacks is a function that throws a descriptive error.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::api::ManagerEnv;

/// Registers the value of a form as the name of a command.
const MAIN: &str = "import result from './form.ts';\n\
    export default (pi) => pi.registerCommand(JSON.stringify(result) ?? 'null', { handler() {} });";

const MIN_FORMS: usize = 45;

#[tokio::test]
async fn module_forms_have_the_values_of_the_reference() {
    let rows: Vec<Value> =
        serde_json::from_str(include_str!("../fixtures/module_forms.json")).unwrap();
    assert!(rows.len() >= MIN_FORMS);
    for row in rows {
        let form = row["form"].as_str().unwrap();
        let env = ManagerEnv::new();
        for (name, text) in row["files"].as_object().unwrap() {
            env.write(name, text.as_str().unwrap());
        }
        let loaded = env.load("main.ts", MAIN).await;
        let value = match loaded {
            Ok(loaded) => {
                let name = loaded["commands"][0]["name"].as_str().unwrap();
                serde_json::from_str(name).unwrap()
            }
            Err(error) if row["expected"] == json!({"error": true}) => {
                assert!(!error.to_string().is_empty());
                json!({"error": true})
            }
            Err(error) => panic!("{form}: {error}"),
        };
        assert_eq!(value, row["expected"], "{form}");
    }
}
