use pretty_assertions::assert_eq;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::credentials::testing::{FakeService, HOUR, NOW, credential, unreachable};
use crate::credentials::{ConfiguredAuth, InMemoryCredentialStore, KeySource};

fn authenticator(entries: &[(&str, serde_json::Value)]) -> Authenticator {
    let entries = entries.iter().map(|(provider, value)| {
        (
            (*provider).to_owned(),
            Credential::from_value(value.clone()).unwrap(),
        )
    });
    Authenticator::new(
        Arc::new(InMemoryCredentialStore::new(entries)),
        HttpClient::new(),
    )
}

fn provider(source: KeySource) -> ProviderAuth {
    ProviderAuth::from_key_source("p", "P key", source)
}

fn configured(mut provider: ProviderAuth, key: &str) -> ProviderAuth {
    provider.configured.api_key = Some(key.into());
    provider
}

fn explicit(key: &str) -> AuthOverrides {
    AuthOverrides {
        api_key: Some(key.into()),
        ..AuthOverrides::default()
    }
}

/// Formats an authentication on one line.
fn show(auth: Option<ResolvedAuth>) -> String {
    let Some(auth) = auth else {
        return "none".to_owned();
    };
    let key = auth
        .api_key
        .as_ref()
        .map_or("-", |key| key.expose_secret())
        .to_owned();
    let mut words = vec![format!("{key} from {}", auth.source)];
    for (name, value) in &auth.headers {
        words.push(format!(
            "{name}={}",
            value.as_deref().unwrap_or("(deleted)")
        ));
    }
    for (name, value) in &auth.env {
        words.push(format!("{name}={value}"));
    }
    words.join(" ")
}

#[tokio::test]
async fn first_source_with_a_key_wins() {
    const SOURCE: KeySource = KeySource::Variables(&["P_KEY", "P_OTHER"]);
    let stored = [("p", json!({"type": "api_key", "key": "stored"}))];
    let env = Env::fixed([("P_KEY", "env"), ("P_OTHER", "other")]);
    let plain = provider(SOURCE);
    let with_config = configured(provider(SOURCE), "config");

    let all = authenticator(&stored);
    let none = authenticator(&[]);
    let no_overrides = AuthOverrides::default();
    let cases = [
        (
            &all,
            &with_config,
            &env,
            explicit("given"),
            "given from key given for this run",
        ),
        (
            &all,
            &with_config,
            &env,
            no_overrides.clone(),
            "stored from stored credential",
        ),
        (
            &none,
            &with_config,
            &env,
            no_overrides.clone(),
            "config from configured API key",
        ),
        (&none, &plain, &env, no_overrides.clone(), "env from P_KEY"),
    ];
    for (authenticator, provider, env, overrides, expected) in cases {
        let auth = authenticator.resolve(provider, env, &overrides).await;
        assert_eq!(show(auth.unwrap()), expected);
    }
    let second = Env::fixed([("P_KEY", "  "), ("P_OTHER", "other")]);
    let auth = none.resolve(&plain, &second, &no_overrides).await.unwrap();
    assert_eq!(show(auth), "other from P_OTHER");
    let empty = Env::fixed([("X", "")]);
    assert_eq!(
        show(none.resolve(&plain, &empty, &no_overrides).await.unwrap()),
        "none"
    );
    let missing = none
        .require(&plain, &empty, &no_overrides)
        .await
        .unwrap_err();
    assert_eq!(
        missing.to_string(),
        "no credentials for p: set P_KEY or P_OTHER, or run `/login p`, \
         or set providers.p.apiKey in models.json"
    );
}

/// A source, the environment variables, and the expected result.
type KeySourceCase<'a> = (KeySource, &'a [(&'a str, &'a str)], &'a str);

#[tokio::test]
async fn cloud_providers_find_their_own_credentials() {
    let home = TempDir::new().unwrap();
    let google = home.path().join(".config/gcloud");
    std::fs::create_dir_all(&google).unwrap();
    std::fs::File::create(google.join("application_default_credentials.json")).unwrap();
    let home_path = home.path().to_str().unwrap();
    let location = [
        ("HOME", home_path),
        ("GOOGLE_CLOUD_PROJECT", "proj"),
        ("GOOGLE_CLOUD_LOCATION", "eu"),
    ];
    let gateway = "- from CLOUDFLARE_API_KEY authorization=(deleted) \
                   cf-aig-authorization=Bearer cf x-api-key=(deleted) \
                   CLOUDFLARE_ACCOUNT_ID=acc CLOUDFLARE_GATEWAY_ID=gw";
    let cases: &[KeySourceCase<'_>] = &[
        (
            KeySource::Anthropic,
            &[
                ("ANTHROPIC_AUTH_TOKEN", "t"),
                ("ANTHROPIC_OAUTH_TOKEN", "o"),
                ("ANTHROPIC_API_KEY", "k"),
            ],
            "- from ANTHROPIC_AUTH_TOKEN authorization=Bearer t",
        ),
        (
            KeySource::Anthropic,
            &[("ANTHROPIC_OAUTH_TOKEN", "o"), ("ANTHROPIC_API_KEY", "k")],
            "o from ANTHROPIC_OAUTH_TOKEN",
        ),
        (
            KeySource::Anthropic,
            &[("ANTHROPIC_API_KEY", "k")],
            "k from ANTHROPIC_API_KEY",
        ),
        (
            KeySource::Bedrock,
            &[("AWS_BEARER_TOKEN_BEDROCK", "t"), ("AWS_PROFILE", "x")],
            "- from AWS_BEARER_TOKEN_BEDROCK",
        ),
        (
            KeySource::Bedrock,
            &[("AWS_PROFILE", "x")],
            "- from AWS_PROFILE",
        ),
        (
            KeySource::Bedrock,
            &[("AWS_ACCESS_KEY_ID", "i"), ("AWS_SECRET_ACCESS_KEY", "s")],
            "- from AWS access keys",
        ),
        (KeySource::Bedrock, &[("AWS_ACCESS_KEY_ID", "i")], "none"),
        (
            KeySource::Bedrock,
            &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "u")],
            "- from ECS task role",
        ),
        (
            KeySource::Bedrock,
            &[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "u")],
            "- from ECS task role",
        ),
        (
            KeySource::Bedrock,
            &[("AWS_WEB_IDENTITY_TOKEN_FILE", "f")],
            "- from web identity token",
        ),
        (
            KeySource::Vertex,
            &[("GOOGLE_CLOUD_API_KEY", "g")],
            "g from GOOGLE_CLOUD_API_KEY",
        ),
        (
            KeySource::Vertex,
            &location,
            "- from gcloud application default credentials",
        ),
        (KeySource::Vertex, &location[..2], "none"),
        (
            KeySource::Vertex,
            &[
                ("HOME", "/nowhere"),
                ("GCLOUD_PROJECT", "proj"),
                ("GOOGLE_CLOUD_LOCATION", "eu"),
                ("GOOGLE_APPLICATION_CREDENTIALS", home_path),
            ],
            "- from gcloud application default credentials",
        ),
        (
            KeySource::CloudflareWorkersAi,
            &[
                ("CLOUDFLARE_API_KEY", "cf"),
                ("CLOUDFLARE_ACCOUNT_ID", "acc"),
            ],
            "cf from CLOUDFLARE_API_KEY CLOUDFLARE_ACCOUNT_ID=acc",
        ),
        (
            KeySource::CloudflareWorkersAi,
            &[("CLOUDFLARE_API_KEY", "cf")],
            "none",
        ),
        (
            KeySource::CloudflareAiGateway,
            &[
                ("CLOUDFLARE_API_KEY", "cf"),
                ("CLOUDFLARE_ACCOUNT_ID", "acc"),
                ("CLOUDFLARE_GATEWAY_ID", "gw"),
            ],
            gateway,
        ),
        (
            KeySource::CloudflareAiGateway,
            &[
                ("CLOUDFLARE_API_KEY", "cf"),
                ("CLOUDFLARE_ACCOUNT_ID", "acc"),
            ],
            "none",
        ),
    ];
    for (source, variables, expected) in cases {
        let env = Env::fixed(variables.iter().copied());
        let provider = provider(*source);
        let authenticator = authenticator(&[]);
        let auth = authenticator
            .resolve(&provider, &env, &AuthOverrides::default())
            .await
            .unwrap();
        assert_eq!(show(auth), *expected, "{source:?} {variables:?}");
        let status = authenticator.check(&provider, &env).await.unwrap();
        assert_eq!(status.is_some(), *expected != "none", "{source:?}");
    }
}

#[tokio::test]
async fn stored_variables_override_the_environment() {
    let store = authenticator(&[(
        "p",
        json!({"type": "api_key", "key": "$NAME-key", "env": {"NAME": "mine", "CLOUDFLARE_ACCOUNT_ID": "stored"}}),
    )]);
    let env = Env::fixed([("CLOUDFLARE_ACCOUNT_ID", "env"), ("NAME", "theirs")]);
    let auth = store
        .resolve(
            &provider(KeySource::CloudflareWorkersAi),
            &env,
            &AuthOverrides::default(),
        )
        .await
        .unwrap();
    assert_eq!(
        show(auth),
        "mine-key from stored credential CLOUDFLARE_ACCOUNT_ID=stored"
    );
    let profile = authenticator(&[(
        "p",
        json!({"type": "api_key", "env": {"AWS_PROFILE": "work"}}),
    )]);
    let auth = profile
        .resolve(
            &provider(KeySource::Bedrock),
            &env,
            &AuthOverrides::default(),
        )
        .await
        .unwrap();
    assert_eq!(show(auth), "- from stored credential AWS_PROFILE=work");
}

#[tokio::test]
async fn unusable_stored_credential_is_an_error_without_fallback() {
    let env = Env::fixed([("P_KEY", "env")]).with_clock(|| NOW);
    let none = AuthOverrides::default();
    let plain = provider(KeySource::Variables(&["P_KEY"]));

    let unset = authenticator(&[("p", json!({"type": "api_key", "key": "$UNSET"}))]);
    let error = unset.resolve(&plain, &env, &none).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot resolve p.key in auth.json: set $UNSET"
    );
    assert_eq!(unset.check(&plain, &env).await.unwrap(), None);

    let sign_in = authenticator(&[(
        "p",
        json!({"type": "oauth", "access": "a", "refresh": "r", "expires": 0}),
    )]);
    let error = sign_in.resolve(&plain, &env, &none).await.unwrap_err();
    assert!(matches!(error, AuthError::Unsupported { .. }), "{error}");

    let service = Arc::new(FakeService::failing([unreachable(true)]));
    let with_oauth = ProviderAuth {
        oauth: Some(Arc::new(service)),
        ..plain.clone()
    };
    let error = sign_in.resolve(&with_oauth, &env, &none).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot refresh the OAuth token for p: token refresh: connection failed"
    );
    assert!(sign_in.store().read("p").await.unwrap().is_some());

    let configured = configured(plain, "$UNSET-too");
    let error = authenticator(&[])
        .resolve(&configured, &env, &none)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot resolve providers.p.apiKey in models.json: set $UNSET"
    );
}

#[tokio::test]
async fn configured_headers_are_added() {
    let mut provider = provider(KeySource::Variables(&["P_KEY"]));
    provider.configured = ConfiguredAuth {
        headers: [("X-Org".to_owned(), "${ORG}".into())].into(),
        auth_header: true,
        ..ConfiguredAuth::default()
    };
    let env = Env::fixed([("P_KEY", "k"), ("ORG", "acme")]);
    let none = AuthOverrides::default();
    let auth = authenticator(&[])
        .resolve(&provider, &env, &none)
        .await
        .unwrap();
    assert_eq!(show(auth), "k from P_KEY X-Org=acme authorization=Bearer k");

    let env = Env::fixed([("P_KEY", "k")]);
    let error = authenticator(&[])
        .resolve(&provider, &env, &none)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot resolve providers.p.headers.X-Org in models.json: set $ORG"
    );
}

#[tokio::test]
async fn check_and_list_run_no_command() {
    let home = TempDir::new().unwrap();
    let marker = home.path().join("ran");
    let command = format!("!touch {}; echo k", marker.display());
    let store = authenticator(&[("p", json!({"type": "api_key", "key": command}))]);
    let env = Env::fixed([("X", "")]);
    let plain = provider(KeySource::Variables(&["P_KEY"]));
    let status = store.check(&plain, &env).await.unwrap().unwrap();
    assert_eq!(status.source, AuthSource::Stored);
    assert_eq!(store.store().list().await.unwrap().len(), 1);
    let by_config = configured(plain.clone(), &command);
    let status = authenticator(&[])
        .check(&by_config, &env)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status.source, AuthSource::Configured);
    assert!(!marker.exists());
    store
        .resolve(&plain, &env, &AuthOverrides::default())
        .await
        .unwrap();
    assert!(marker.exists());
}

#[tokio::test]
async fn check_does_not_refresh_the_token() {
    let service = Arc::new(FakeService::new());
    let provider = ProviderAuth {
        provider: "p".to_owned(),
        api_key: None,
        oauth: Some(Arc::new(Arc::clone(&service))),
        configured: ConfiguredAuth::default(),
    };
    let entries = [("p".to_owned(), Credential::OAuth(credential(1, NOW)))];
    let store = Authenticator::new(
        Arc::new(InMemoryCredentialStore::new(entries)),
        HttpClient::new(),
    );
    let env = Env::fixed([("X", "")]).with_clock(|| NOW);
    let status = store.check(&provider, &env).await.unwrap().unwrap();
    assert_eq!(status.kind, AuthKind::OAuth);
    assert_eq!(service.received(), Vec::<String>::new());
    let auth = store
        .resolve(&provider, &env, &AuthOverrides::default())
        .await
        .unwrap();
    assert_eq!(show(auth), "a2 from OAuth");
    // An explicit key works even if the provider supports only OAuth.
    let auth = store
        .resolve(&provider, &env, &explicit("token"))
        .await
        .unwrap();
    assert_eq!(show(auth), "token from key given for this run");
    assert_eq!(
        NOW + HOUR,
        store
            .store()
            .read("p")
            .await
            .unwrap()
            .unwrap()
            .as_oauth()
            .unwrap()
            .expires
    );
}

#[test]
fn debug_shows_no_secret() {
    let auth = ResolvedAuth {
        api_key: Some("s3cret".into()),
        headers: [("authorization".to_owned(), Some("Bearer s3cret".to_owned()))].into(),
        base_url: None,
        env: [("TOKEN".to_owned(), "s3cret".to_owned())].into(),
        source: AuthSource::Stored,
        kind: AuthKind::ApiKey,
    };
    let provider = configured(provider(KeySource::Anthropic), "s3cret");
    let mut overrides = explicit("s3cret");
    overrides
        .env
        .insert("TOKEN".to_owned(), "s3cret".to_owned());
    for text in [
        format!("{auth:?}"),
        format!("{provider:?}"),
        format!("{overrides:?}"),
    ] {
        assert!(!text.contains("s3cret"), "{text}");
    }
}
