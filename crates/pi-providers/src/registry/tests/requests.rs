//! Requests as providers receive them, and errors of requests that cannot be sent.

use pi_auth::Credential;
use pi_protocol::{Message, StopReason, UserMessage};
use pi_test_support::{ScriptedReply, ScriptedServer};
use pretty_assertions::assert_eq;

use super::*;
use crate::options::StreamOptions;

fn prompt() -> Vec<Message> {
    let user = UserMessage {
        content: "hi".into(),
        ..UserMessage::default()
    };
    vec![user.into()]
}

fn with_acme(variables: &[(&str, &str)], fields: Value) -> (Models, Arc<Acme>) {
    let models = models_with_env(variables);
    let acme = Arc::new(Acme {
        model_fields: fields,
        ..Acme::default()
    });
    models
        .register("acme", Registration::Provider(Arc::clone(&acme) as _))
        .unwrap();
    (models, acme)
}

async fn send(models: &Models, options: StreamOptions) -> Arc<pi_protocol::AssistantMessage> {
    let model = models.model("acme", "one").unwrap();
    models.stream(&model, prompt(), options).result().await
}

fn sent_headers(request: &ModelRequest) -> Vec<String> {
    let headers = request.options.headers.iter();
    headers
        .map(|(name, value)| format!("{name}={}", value.as_deref().unwrap_or("-")))
        .collect()
}

fn sent_key(request: &ModelRequest) -> Option<&str> {
    request
        .options
        .api_key
        .as_ref()
        .map(secrecy::ExposeSecret::expose_secret)
}

#[tokio::test]
async fn request_carries_the_key_and_headers_of_all_layers() {
    let own = json!({"headers": {"X-One": "model", "X-Two": "model", "x-three": "model"}});
    let (models, acme) = with_acme(&[("ACME_KEY", "from-env"), ("TEAM", "blue")], own);
    let layers = json!({
        "headers": {"x-one": "provider", "X-Zero": "team $TEAM"},
        "modelOverrides": {"one": {"headers": {"X-TWO": "override"}}},
        "authHeader": true,
    });
    models.register("acme", file(layers)).unwrap();
    let options = StreamOptions {
        headers: [
            ("X-Three".to_owned(), Some("caller".to_owned())),
            ("x-four".to_owned(), None),
        ]
        .into(),
        ..StreamOptions::default()
    };
    let response = send(&models, options).await;
    assert_eq!(
        (response.text().as_str(), response.stop_reason),
        ("ok", StopReason::Stop)
    );
    let request = acme.last_request();
    assert_eq!(sent_key(&request), Some("from-env"));
    assert_eq!(
        sent_headers(&request),
        [
            "X-One=model",
            "X-TWO=override",
            "X-Three=caller",
            "X-Zero=team blue",
            "authorization=Bearer from-env",
            "x-four=-",
        ]
    );
}

#[tokio::test]
async fn key_sources_are_tried_in_order() {
    let (models, acme) = with_acme(&[("ACME_KEY", "from-env")], json!({}));
    send(&models, StreamOptions::default()).await;
    assert_eq!(sent_key(&acme.last_request()), Some("from-env"));

    models
        .register("acme", file(json!({"apiKey": "from-file"})))
        .unwrap();
    send(&models, StreamOptions::default()).await;
    assert_eq!(sent_key(&acme.last_request()), Some("from-file"));

    let store = models.authenticator().store();
    store
        .put("acme", Credential::api_key("stored"))
        .await
        .unwrap();
    send(&models, StreamOptions::default()).await;
    assert_eq!(sent_key(&acme.last_request()), Some("stored"));

    let explicit = StreamOptions {
        api_key: Some("explicit".into()),
        ..StreamOptions::default()
    };
    send(&models, explicit).await;
    assert_eq!(sent_key(&acme.last_request()), Some("explicit"));
}

#[tokio::test]
async fn unsendable_requests_end_in_one_error() {
    let (models, acme) = with_acme(&[], json!({}));
    let response = send(&models, StreamOptions::default()).await;
    assert_eq!(response.stop_reason, StopReason::Error);
    assert_eq!(
        response.error_message.as_deref(),
        Some(
            "no credentials for acme: set ACME_KEY, or run `/login acme`, or set \
             providers.acme.apiKey in models.json"
        )
    );
    assert!(acme.requests.lock().is_empty());

    let orphan = Arc::new(testing::model(
        "openai-completions",
        json!({"provider": "gone"}),
    ));
    let response = models
        .stream(&orphan, prompt(), StreamOptions::default())
        .result()
        .await;
    assert_eq!(
        response.error_message.as_deref(),
        Some(
            "Unknown provider \"gone\"; add it to models.json or load the extension that \
             provides it"
        )
    );

    let strange = json!({"baseUrl": "https://x.test", "apiKey": "k", "api": "telepathy", "models": [{"id": "m"}]});
    models.register("strange", file(strange)).unwrap();
    let model = models.model("strange", "m").unwrap();
    let response = models
        .stream(&model, prompt(), StreamOptions::default())
        .result()
        .await;
    let error = response.error_message.clone().unwrap();
    assert!(
        error.starts_with("Unknown API \"telepathy\" for model strange/m; supported: "),
        "{error}"
    );
}

#[tokio::test]
async fn canceled_request_is_never_sent() {
    let (models, acme) = with_acme(&[("ACME_KEY", "k")], json!({}));
    let options = StreamOptions::default();
    options.cancel.cancel();
    let response = send(&models, options).await;
    assert_eq!(response.stop_reason, StopReason::Aborted);
    assert!(acme.requests.lock().is_empty());
}

#[tokio::test]
async fn live_handle_taken_early_sees_the_response() {
    let (models, _acme) = with_acme(&[("ACME_KEY", "k")], json!({}));
    let model = models.model("acme", "one").unwrap();
    let stream = models.stream(&model, prompt(), StreamOptions::default());
    let (live, phase) = (stream.live(), stream.phase());
    assert_eq!(live.snapshot().text(), "");
    stream.result().await;
    assert_eq!(live.snapshot().text(), "ok");
    assert_eq!(*live.usage(), pi_protocol::Usage::default());
    assert_eq!(*phase.borrow(), pi_protocol::StreamPhase::Ended);
}

#[tokio::test]
async fn account_and_gateway_fill_the_base_url() {
    let address = "https://g.test/{CLOUDFLARE_ACCOUNT_ID}/{CLOUDFLARE_GATEWAY_ID}/openai";
    let (models, acme) = with_acme(
        &[("ACME_KEY", "k"), ("CLOUDFLARE_ACCOUNT_ID", "acc")],
        json!({"baseUrl": address}),
    );
    let response = send(&models, StreamOptions::default()).await;
    assert_eq!(
        response.error_message.as_deref(),
        Some(
            "The base URL of acme requires CLOUDFLARE_GATEWAY_ID; set the variable or sign in again"
        )
    );
    let scoped = StreamOptions {
        env: [("CLOUDFLARE_GATEWAY_ID".to_owned(), "gate".to_owned())].into(),
        ..StreamOptions::default()
    };
    send(&models, scoped).await;
    assert_eq!(
        acme.last_request().model.base_url,
        "https://g.test/acc/gate/openai"
    );
}

#[tokio::test]
async fn attribution_headers_require_telemetry() {
    let cases = [
        (
            "https://openrouter.ai/api/v1",
            vec![
                "http-referer=https://pi.dev",
                "x-openrouter-categories=cli-agent",
                "x-openrouter-title=pi",
            ],
        ),
        (
            "https://integrate.api.nvidia.com/v1",
            vec!["x-billing-invoke-origin=Pi"],
        ),
        ("https://api.cloudflare.com/client", vec![]),
        (
            "https://opencode.ai/zen",
            vec!["x-opencode-client=pi", "x-opencode-session=s1"],
        ),
        ("https://not-openrouter.ai/api", vec![]),
    ];
    for (address, expected) in cases {
        for telemetry in [Telemetry::Off, Telemetry::On] {
            let acme = Arc::new(Acme {
                model_fields: json!({"baseUrl": address}),
                ..Acme::default()
            });
            let models = Models::new(ModelsOptions {
                env: Env::fixed([("ACME_KEY", "k")]),
                telemetry,
                ..ModelsOptions::default()
            });
            models
                .register("acme", Registration::Provider(Arc::clone(&acme) as _))
                .unwrap();
            let options = StreamOptions {
                session_id: Some("s1".to_owned()),
                ..StreamOptions::default()
            };
            send(&models, options).await;
            let mut expected = expected.clone();
            if telemetry == Telemetry::Off {
                // OpenCode routes by session, which does not identify the program.
                expected.retain(|header| header.starts_with("x-opencode-session"));
            }
            assert_eq!(
                sent_headers(&acme.last_request()),
                expected,
                "{address} {telemetry:?}"
            );
        }
    }
}

#[tokio::test]
async fn configured_provider_uses_its_wire_api() {
    let events = concat!(
        "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"}}]}\n\n",
        "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n",
    );
    let server = ScriptedServer::start([ScriptedReply::event_stream().chunk(events)]).await;
    let models = models_with_env(&[]);
    let local = json!({"baseUrl": server.url(), "apiKey": "local-key", "api": "openai-completions",
        "models": [{"id": "tiny", "headers": {"x-pool": "a"}}]});
    models.register("local", file(local)).unwrap();
    let model = models.model("local", "tiny").unwrap();
    let response = models
        .stream(&model, prompt(), StreamOptions::default())
        .result()
        .await;
    assert_eq!(
        (response.text().as_str(), response.error_message.as_deref()),
        ("hello", None)
    );
    let request = server.wait_for_request(0).await;
    assert_eq!(request.header("authorization"), Some("Bearer local-key"));
    assert_eq!(request.header("x-pool"), Some("a"));
    assert_eq!(request.json()["model"], "tiny");
}

#[tokio::test]
async fn extension_driver_can_respond() {
    struct OracleDriver;
    impl ProviderDriver for OracleDriver {
        fn stream(&self, request: ModelRequest) -> Option<AssistantStream> {
            Some(AssistantStream::produce(
                &request.model,
                0,
                |mut writer| async move {
                    let text = writer.message().open_text();
                    writer.message().append_text(text, "42");
                    writer.message().close_text(text);
                    writer.complete().await;
                },
            ))
        }

        fn refresh<'a>(
            &'a self,
            _context: &'a RefreshContext,
        ) -> BoxFuture<'a, Result<Option<Vec<ModelConfig>>, ProviderError>> {
            let found = ModelConfig {
                id: "found".to_owned(),
                ..ModelConfig::default()
            };
            std::future::ready(Ok(Some(vec![found]))).boxed()
        }
    }
    let models = models_with_env(&[]);
    let oracle = ExtensionProvider {
        config: config(
            json!({"baseUrl": "https://o.test", "apiKey": "k", "api": "oracle", "models": [{"id": "deep"}]}),
        ),
        driver: Some(Arc::new(OracleDriver)),
        ..ExtensionProvider::default()
    };
    models
        .register("oracle", Registration::Extension(oracle))
        .unwrap();
    let model = models.model("oracle", "deep").unwrap();
    let response = models
        .stream(&model, prompt(), StreamOptions::default())
        .result()
        .await;
    assert_eq!(response.text(), "42");

    let report = models.refresh(RefreshOptions::default()).await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert_eq!(ids(&models.models("oracle")), ["found"]);
}
