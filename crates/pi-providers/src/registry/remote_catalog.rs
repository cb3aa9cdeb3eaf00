//! The remote catalog, which is updated between releases: `GET /api/models/providers/<id>` on pi's
//! server, queried at most every four hours and used only if newer than the embedded catalog.

use std::time::Duration;

use pi_http::retry::http_date_ms;
use pi_http::{HttpClient, read_body, send_error, user_agent};
use pi_protocol::{ErrorClass, Model, ModelKind, ProviderError};
use serde_json::Value;

use super::overlay::ModelOverlay;
use super::provider::RefreshContext;
use super::store::StoredModels;

pub(super) const SERVER: &str = "https://pi.dev";

const INTERVAL: Duration = Duration::from_hours(4);
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(4);
const ATTEMPTS: u32 = 3;

/// Statuses worth another attempt.
const TRANSIENT_STATUSES: [u16; 7] = [408, 425, 429, 500, 502, 503, 504];

/// Restores a provider's stored catalog and fetches a new one if due.
pub(super) async fn refresh(
    provider: &str,
    server: &str,
    overlay: &ModelOverlay,
    context: &RefreshContext,
) -> Result<(), ProviderError> {
    let stored = context.store.read(provider).await.map_err(store_failed)?;
    let bundled_at = crate::catalog::generated_at();
    overlay.publish(newer_models(provider, stored.as_ref(), bundled_at));
    let Some(http) = &context.network else {
        return Ok(());
    };
    if !context.force && is_recent(stored.as_ref(), context.env.now_ms()) {
        return Ok(());
    }
    // Send no ETag without stored models: a 304 response would leave the list empty.
    let validator = stored
        .as_ref()
        .filter(|stored| !stored.models.is_empty())
        .and_then(|stored| stored.etag.clone());
    let url = catalog_url(server, provider);
    let response = get(http, &url, validator.as_deref(), None, context).await?;
    let checked_at = Some(context.env.now_ms());
    let stored = stored.unwrap_or_default();
    let (entry, outcome) = match response.status {
        304 => (
            StoredModels {
                checked_at,
                ..stored
            },
            Ok(()),
        ),
        404 | 501 => {
            let unknown = StoredModels {
                checked_at,
                last_modified: Some(0),
                etag: None,
                ..stored
            };
            (unknown, Ok(()))
        }
        200..=299 => {
            let entry = StoredModels {
                checked_at,
                last_modified: Some(response.last_modified.unwrap_or(0)),
                etag: response.etag,
                ..parse(provider, &response.body)?
            };
            overlay.publish(newer_models(provider, Some(&entry), bundled_at));
            (entry, Ok(()))
        }
        status => {
            let checked = StoredModels {
                checked_at,
                ..stored
            };
            (checked, Err(failed(provider, status)))
        }
    };
    context
        .store
        .write(provider, entry)
        .await
        .map_err(store_failed)?;
    outcome
}

pub(super) fn store_failed(error: super::store::ModelsStoreError) -> ProviderError {
    ProviderError::new(ErrorClass::InvalidRequest, error.0)
}

fn is_recent(stored: Option<&StoredModels>, now: i64) -> bool {
    let Some(StoredModels {
        checked_at: Some(checked_at),
        last_modified: Some(_),
        ..
    }) = stored
    else {
        return false;
    };
    let age = u64::try_from(now.saturating_sub(*checked_at)).unwrap_or(u64::MAX);
    Duration::from_millis(age) < INTERVAL
}

fn newer_models(provider: &str, stored: Option<&StoredModels>, bundled_at: i64) -> Vec<Model> {
    let Some(stored) = stored else {
        return Vec::new();
    };
    if stored.last_modified.is_none_or(|time| time <= bundled_at) {
        return Vec::new();
    }
    let models = stored.models.iter();
    models
        .filter(|model| model.provider == provider)
        .cloned()
        .collect()
}

/// Returns the address of a provider's catalog with models of all kinds.
fn catalog_url(server: &str, provider: &str) -> String {
    let kinds = ModelKind::ALL.map(ModelKind::name).join(",");
    format!("{server}/api/models/providers/{provider}?types={kinds}")
}

/// Fetches the models that are newer than the embedded catalog, without the store; empty if the
/// server does not know the provider.
pub(super) async fn fetch_newer(
    provider: &str,
    server: &str,
    http: &HttpClient,
    context: &RefreshContext,
) -> Result<StoredModels, ProviderError> {
    let response = get(http, &catalog_url(server, provider), None, None, context).await?;
    match response.status {
        404 | 501 => Ok(StoredModels::default()),
        200..=299 => {
            let is_newer = response.last_modified.unwrap_or(0) > crate::catalog::generated_at();
            let fetched = parse(provider, &response.body)?;
            Ok(if is_newer {
                fetched
            } else {
                StoredModels::default()
            })
        }
        status => Err(failed(provider, status)),
    }
}

fn failed(provider: &str, status: u16) -> ProviderError {
    ProviderError::network(format!(
        "cannot fetch the model catalog of {provider}: HTTP {status}"
    ))
    .with_status(status)
}

/// Parses a catalog: a list of records, an object with such a list, or an object of records.
/// Records of unknown kinds are dropped.
fn parse(provider: &str, body: &[u8]) -> Result<StoredModels, ProviderError> {
    let unreadable = |reason: &str| {
        ProviderError::protocol(format!(
            "cannot parse the model catalog of {provider}: {reason}"
        ))
    };
    let mut value: Value =
        serde_json::from_slice(body).map_err(|error| unreadable(&error.to_string()))?;
    if let Some(models @ Value::Array(_)) = value.get_mut("models") {
        value = models.take();
    }
    let records: Vec<Value> = match value {
        Value::Array(records) => records,
        Value::Object(records) => records.into_iter().map(|(_, record)| record).collect(),
        _ => return Err(unreadable("not a list of models")),
    };
    let is_known = |record: &Value| match record.get("type") {
        None => true,
        Some(kind) => ModelKind::ALL.iter().any(|known| kind == known.name()),
    };
    let records = records.into_iter().filter_map(|mut record| {
        let fields = record
            .as_object_mut()
            .filter(|fields| fields.contains_key("id"))?;
        fields.insert("provider".to_owned(), provider.into());
        is_known(&record).then_some(record)
    });
    Ok(StoredModels::from_records(records.collect()))
}

pub(super) struct FetchedDocument {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    last_modified: Option<i64>,
    etag: Option<String>,
}

/// Fetches a document with a key, in one attempt.
pub(super) async fn get_within(
    timeout: Duration,
    http: &HttpClient,
    url: &str,
    bearer: &str,
    context: &RefreshContext,
) -> Result<FetchedDocument, ProviderError> {
    let response = get_once(http, url, None, Some(bearer), context);
    tokio::time::timeout(timeout, response)
        .await
        .unwrap_or_else(|_| Err(no_response(url, timeout)))
}

fn no_response(url: &str, timeout: Duration) -> ProviderError {
    ProviderError::network(format!(
        "{url} did not respond within {} s",
        timeout.as_secs()
    ))
}

/// Fetches a document, retrying on transient failures.
pub(super) async fn get(
    http: &HttpClient,
    url: &str,
    validator: Option<&str>,
    bearer: Option<&str>,
    context: &RefreshContext,
) -> Result<FetchedDocument, ProviderError> {
    let mut attempt = 1;
    loop {
        let response = tokio::time::timeout(
            ATTEMPT_TIMEOUT,
            get_once(http, url, validator, bearer, context),
        )
        .await
        .unwrap_or_else(|_| Err(no_response(url, ATTEMPT_TIMEOUT)));
        let is_transient = match &response {
            Ok(response) => TRANSIENT_STATUSES.contains(&response.status),
            Err(error) => error.class == ErrorClass::Network,
        };
        if !is_transient || attempt == ATTEMPTS {
            return response;
        }
        attempt += 1;
    }
}

async fn get_once(
    http: &HttpClient,
    url: &str,
    validator: Option<&str>,
    bearer: Option<&str>,
    context: &RefreshContext,
) -> Result<FetchedDocument, ProviderError> {
    let target = reqwest::Url::parse(url)
        .map_err(|error| ProviderError::invalid(format!("invalid URL {url}: {error}")))?;
    let (client, route) = http.client_and_route(&target, &context.env)?;
    let mut request = client
        .get(target)
        .header("accept", "application/json")
        .header("user-agent", user_agent());
    if let Some(validator) = validator {
        request = request.header("if-none-match", validator);
    }
    if let Some(bearer) = bearer {
        request = request.bearer_auth(bearer);
    }
    let response = request.send().await;
    let response = response.map_err(|error| send_error(error, &route))?;
    let header = |name: &str| {
        let value = response.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let last_modified = header("last-modified").as_deref().and_then(http_date_ms);
    let etag = header("etag");
    let status = response.status().as_u16();
    Ok(FetchedDocument {
        status,
        last_modified,
        etag,
        body: read_body(response, &route).await?,
    })
}
