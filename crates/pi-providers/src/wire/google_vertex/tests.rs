//! URLs and credentials of Vertex requests.

use pi_http::HttpClient;
use pi_protocol::ErrorClass;
use pi_test_support::{ScriptedReply, ScriptedServer};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::options::StreamOptions;
use crate::wire::testing::{self, model};

const CATALOG_URL: &str = "https://{location}-aiplatform.googleapis.com";

fn request(id: &str, base_url: &str, api_key: Option<&str>, env: &[(&str, &str)]) -> ModelRequest {
    let model = model("google-vertex", json!({"id": id, "baseUrl": base_url}));
    let options = StreamOptions {
        api_key: api_key.map(Into::into),
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..StreamOptions::default()
    };
    testing::request(model, json!([]), options)
}

fn vertex() -> GoogleVertex {
    GoogleVertex::new(GoogleCredentials::new(HttpClient::new()))
}

#[tokio::test]
async fn an_api_key_uses_the_express_or_custom_endpoint() {
    let cases = [
        (
            CATALOG_URL,
            "gemini",
            "https://aiplatform.googleapis.com/v1/publishers/google/models/gemini",
        ),
        (
            "",
            "meta/llama",
            "https://aiplatform.googleapis.com/v1/publishers/meta/models/llama",
        ),
        (
            "http://h/vertex/",
            "gemini",
            "http://h/vertex/v1/publishers/google/models/gemini",
        ),
        (
            "http://h/v1beta1",
            "gemini",
            "http://h/v1beta1/publishers/google/models/gemini",
        ),
        (
            "http://h/v2",
            "publishers/x/models/y",
            "http://h/v2/publishers/x/models/y",
        ),
        (
            "http://h/vbeta",
            "gemini",
            "http://h/vbeta/v1/publishers/google/models/gemini",
        ),
    ];
    for (base_url, id, expected) in cases {
        let exchange = vertex()
            .prepare(&request(id, base_url, Some(" key "), &[]))
            .await
            .unwrap();
        assert_eq!(
            exchange.url,
            format!("{expected}:streamGenerateContent?alt=sse")
        );
        let headers = HeaderOverrides::from([(API_KEY_HEADER.into(), Some("key".into()))]);
        assert_eq!(exchange.headers, headers);
    }
}

#[tokio::test]
async fn a_google_credential_is_sent_as_a_bearer_token() {
    let token = json!({"access_token": "ya29.token", "expires_in": 3600}).to_string();
    let google = ScriptedServer::start([ScriptedReply::full(200, &[], token)]).await;
    let host = google.address().to_string();
    let env = [
        ("GCE_METADATA_HOST", host.as_str()),
        ("GOOGLE_CLOUD_PROJECT", "p"),
        ("GOOGLE_CLOUD_LOCATION", "global"),
        ("GOOGLE_CLOUD_QUOTA_PROJECT", "billed"),
    ];
    let request = request("gemini", CATALOG_URL, None, &env);
    let exchange = vertex().prepare(&request).await.unwrap();
    let base_url = "https://aiplatform.googleapis.com/v1/projects/p/locations/global";
    assert_eq!(
        exchange.url,
        format!("{base_url}/publishers/google/models/gemini:streamGenerateContent?alt=sse")
    );
    let headers = HeaderOverrides::from([
        ("authorization".into(), Some("Bearer ya29.token".into())),
        ("x-goog-user-project".into(), Some("billed".into())),
    ]);
    assert_eq!(exchange.headers, headers);
}

#[test]
fn every_location_has_its_host() {
    let path = "v1/projects/p/locations";
    let cases = [
        (
            "us-central1",
            format!("https://us-central1-aiplatform.googleapis.com/{path}/us-central1"),
        ),
        (
            "global",
            format!("https://aiplatform.googleapis.com/{path}/global"),
        ),
        (
            "us",
            format!("https://aiplatform.us.rep.googleapis.com/{path}/us"),
        ),
        (
            "eu",
            format!("https://aiplatform.eu.rep.googleapis.com/{path}/eu"),
        ),
    ];
    for (location, expected) in cases {
        assert_eq!(regional_base_url("p", location), expected);
    }
}

#[test]
fn placeholders_are_not_keys() {
    for key in ["", "  ", "gcp-vertex-credentials", "<authenticated>"] {
        assert_eq!(api_key(&request("a", "", Some(key), &[])), None, "{key}");
    }
    assert_eq!(api_key(&request("a", "", Some("<a>b"), &[])), Some("<a>b"));
}

#[test]
fn project_and_location_come_from_options_then_environment() {
    let env = [
        ("GOOGLE_CLOUD_PROJECT", "new"),
        ("GCLOUD_PROJECT", "old"),
        ("GOOGLE_CLOUD_LOCATION", "global"),
    ];
    let resolve = |request: &ModelRequest| {
        let env = request.env.with_overrides(&request.options.env);
        Ok::<_, ProviderError>((project(request, &env)?, location(request, &env)?))
    };
    let mut full = request("a", CATALOG_URL, None, &env);
    assert_eq!(resolve(&full).unwrap(), ("new".into(), "global".into()));
    full.options
        .provider_options
        .insert("project".into(), "mine".into());
    full.options
        .provider_options
        .insert("location".into(), "eu".into());
    assert_eq!(resolve(&full).unwrap(), ("mine".into(), "eu".into()));
    let old = request("a", CATALOG_URL, None, &env[1..]);
    assert_eq!(resolve(&old).unwrap(), ("old".into(), "global".into()));

    let no_location = resolve(&request("a", CATALOG_URL, None, &env[..1])).unwrap_err();
    let no_project = resolve(&request("a", CATALOG_URL, None, &env[2..])).unwrap_err();
    for (error, variable) in [
        (no_location, "GOOGLE_CLOUD_LOCATION"),
        (no_project, "GOOGLE_CLOUD_PROJECT"),
    ] {
        assert_eq!(error.class, ErrorClass::Auth);
        assert!(error.message.contains(variable), "{error}");
    }
}
