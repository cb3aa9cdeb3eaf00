use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;

fn parse_text(text: &str) -> Result<Vec<(String, Value)>, ModelsFileError> {
    parse_models_file(Path::new("models.json"), text)
}

fn problems(text: &str) -> Vec<String> {
    match parse_text(text) {
        Ok(_) => Vec::new(),
        Err(ModelsFileError::Invalid { problems, .. }) => {
            problems.iter().map(ToString::to_string).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn comments_and_trailing_commas_are_allowed() {
    let text = "\u{feff}{
  // a local server
  \"providers\": {
    \"local\": {
      \"baseUrl\": \"http://localhost:1//v1\", // slashes in text are text
      \"models\": [{\"id\": \"a\",}, {\"id\": \"b, }\"},],
    },
  },
}
// end";
    let providers = parse_text(text).unwrap();
    let local = json!({
        "baseUrl": "http://localhost:1//v1",
        "models": [{"id": "a"}, {"id": "b, }"}],
    });
    assert_eq!(providers, [("local".to_owned(), local)]);
}

#[test]
fn former_provider_id_is_read_as_the_current_one() {
    let ids = |text: &str| -> Vec<(String, Value)> { parse_text(text).unwrap() };
    let entry = json!({"baseUrl": "https://old.test"});
    assert_eq!(
        ids(r#"{"providers": {"azure-openai-responses": {"baseUrl": "https://old.test"}}}"#),
        [("azure".to_owned(), entry)]
    );
    let both = ids(r#"{"providers": {
        "azure-openai-responses": {"baseUrl": "https://old.test"},
        "azure": {"baseUrl": "https://new.test"}}}"#);
    assert_eq!(
        both,
        [("azure".to_owned(), json!({"baseUrl": "https://new.test"}))]
    );
}

#[test]
fn invalid_json_is_reported_with_position() {
    for (text, expected) in [
        ("{ nope", "1:3: invalid JSON: "),
        (
            "{\"providers\": {\n  \"é\": {\"baseUrl\": 'x'}}}",
            "2:20: invalid JSON: ",
        ),
        ("{\"providers\": {}\n\"more\": 1}", "1:17: invalid JSON: "),
        (
            "{\"providers\": {\"x\": {\"models\": [{\"id\": \"a\"}",
            "invalid JSON: ",
        ),
        (
            "/* block */ {\"providers\": {}}",
            "1:1: block comments are not supported",
        ),
        ("", "1:1: empty file"),
        ("// only a comment", "1:1: empty file"),
    ] {
        let found = problems(text);
        assert_eq!(found.len(), 1, "{text:?}");
        assert!(found[0].contains(expected), "{text:?}: {}", found[0]);
    }
}

#[test]
fn invalid_values_are_reported_with_position() {
    let text = r#"{
  "providers": {
    "a": {
      "baseUrl": 5,
      "api": "",
      "oauth": "github",
      "authHeader": "yes",
      "headers": {"x-y": 1},
      "models": [
        {"name": "no id"},
        {
          "id": "m",
          "reasoning": 1,
          "input": ["text", "audio"],
          "thinkingLevelMap": {"low": 3, "off": null},
          "cost": {"input": 1, "output": "2", "cacheRead": 0},
          "promptCache": {"short": 0},
          "inputLimits": {"maxRequestBytes": 1.5, "images": {"resize": {"jpegQuality": 101}}},
          "contextWindow": "big",
          "samplingParams": [],
          "compat": {"supportsLongCacheRetention": "x"}
        }
      ],
      "modelOverrides": {"some/model.v1": {"maxTokens": true, "cost": {"tiers": [{"input": 1}]}}}
    },
    "b": []
  }
}"#;
    let error = parse_text(text).unwrap_err().to_string();
    insta::assert_snapshot!(error, @r#"
    cannot load models: models.json has errors and is ignored:
      4:18: providers.a.baseUrl: must be a nonempty string
      5:14: providers.a.api: must be a nonempty string
      6:16: providers.a.oauth: must be "radius"
      7:21: providers.a.authHeader: must be true or false
      8:26: providers.a.headers.x-y: must be a string
      10:9: providers.a.models[0].id: is missing
      13:24: providers.a.models[1].reasoning: must be true or false
      14:29: providers.a.models[1].input[1]: must be "text" or "image"
      15:39: providers.a.models[1].thinkingLevelMap.low: must be a string or null
      16:19: providers.a.models[1].cost.cacheWrite: is missing
      16:42: providers.a.models[1].cost.output: must be a number
      17:36: providers.a.models[1].promptCache.short: must be a positive number
      18:46: providers.a.models[1].inputLimits.maxRequestBytes: must be an integer of at least 1
      18:88: providers.a.models[1].inputLimits.images.resize.jpegQuality: must be an integer from 1 to 100
      19:28: providers.a.models[1].contextWindow: must be a number
      20:29: providers.a.models[1].samplingParams: must be an object
      21:52: providers.a.models[1].compat.supportsLongCacheRetention: must be true or false
      24:57: providers.a.modelOverrides["some/model.v1"].maxTokens: must be a number
      24:82: providers.a.modelOverrides["some/model.v1"].cost.tiers[0].inputTokensAbove: is missing
      24:82: providers.a.modelOverrides["some/model.v1"].cost.tiers[0].output: is missing
      24:82: providers.a.modelOverrides["some/model.v1"].cost.tiers[0].cacheRead: is missing
      24:82: providers.a.modelOverrides["some/model.v1"].cost.tiers[0].cacheWrite: is missing
      26:10: providers.b: must be an object
    "#);
}

#[test]
fn unknown_fields_are_allowed() {
    let text = r#"{"$schema": "x", "providers": {"a": {"later": {"x": [1]}, "compat": {
        "thinkingFormat": "openai", "supportsStrictTools": "checked for another API",
        "chatTemplateKwargs": {"t": {"$var": "thinking.enabled", "omitWhenOff": true}, "n": null},
        "openRouterRouting": {"sort": {"by": "price", "partition": null}, "max_price": {"prompt": "1"},
                              "preferred_max_latency": {"p50": 1}}
    }}}}"#;
    assert_eq!(problems(text), Vec::<String>::new());
    assert_eq!(problems(r#"{"providers": {}}"#), Vec::<String>::new());
    assert_eq!(problems("{}"), ["1:1: providers: is missing"]);
    assert_eq!(problems("[]"), ["1:1: must be an object"]);
}

#[test]
fn missing_file_has_no_providers() {
    let home = tempfile::TempDir::new().unwrap();
    let file = home.path().join("models.json");
    assert_eq!(read_models_file::<Value>(&file).unwrap(), []);
    let error = read_models_file::<Value>(home.path())
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("cannot read "), "{error}");
}

#[test]
fn deserialization_errors_are_reported() {
    let text = "{\"providers\": {\n  \"a\": {},\n  \"b\": {\"name\": \"x\"}\n}}";
    let error = parse_models_file::<std::collections::BTreeMap<String, u8>>(Path::new("f"), text)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("cannot load models: f has errors and is ignored:\n  3:3: providers.b: "),
        "{error}"
    );
}

proptest::proptest! {
    #[test]
    fn arbitrary_text_fails_only_with_a_position(text in "[\\{\\}\\[\\]\",:a-z0-9/\\* \n\\\\é]{0,60}") {
        match parse_text(&text) {
            Ok(_) | Err(ModelsFileError::Invalid { .. }) => {}
            Err(ModelsFileError::Io { .. }) => panic!("nothing was read"),
        }
    }
}
