//! The catalog that keeps up between releases: `GET /api/models/providers/<id>` of pi's own
//! server, asked at most every four hours, used only if it is newer than the embedded one.

use std::time::Duration;

use serde_json::Value;

use super::overlay::Overlay;
use super::provider::RefreshContext;
use super::store::StoredModels;
use crate::error::{ErrorClass, ProviderError};
use crate::model::Model;
use crate::transport::{HttpClient, http_date_ms, read_body, send_error, user_agent};

/// Where catalogs are served.
pub(super) const SERVER: &str = "https://pi.dev";

const INTERVAL: Duration = Duration::from_hours(4);
const ATTEMPT_LIMIT: Duration = Duration::from_secs(4);
const ATTEMPTS: u32 = 3;

/// Answers that another attempt may better.
const PASSING_TROUBLE: [u16; 7] = [408, 425, 429, 500, 502, 503, 504];

/// Restores the stored catalog of a provider and, if it is due, asks for a new one.
pub(super) async fn refresh(
    provider: &str,
    server: &str,
    overlay: &Overlay,
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
    let url = format!("{server}/api/models/providers/{provider}");
    // Without a body behind it a validator could answer "unchanged" to nothing.
    let validator = stored
        .as_ref()
        .filter(|stored| !stored.models.is_empty())
        .and_then(|stored| stored.etag.clone());
    let answer = get(http, &url, validator.as_deref(), None, context).await?;
    let checked_at = Some(context.env.now_ms());
    let stored = stored.unwrap_or_default();
    let (entry, outcome) = match answer.status {
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
                models: parse(provider, &answer.body)?,
                checked_at,
                last_modified: Some(answer.last_modified.unwrap_or(0)),
                etag: answer.etag,
            };
            overlay.publish(newer_models(provider, Some(&entry), bundled_at));
            (entry, Ok(()))
        }
        status => {
            let refused = ProviderError::network(format!(
                "The model catalog of {provider} could not be fetched: status {status}"
            ));
            let checked = StoredModels {
                checked_at,
                ..stored
            };
            (checked, Err(refused.with_status(status)))
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

/// Reads a catalog: a list of records, an object with such a list, or an object of records.
fn parse(provider: &str, body: &[u8]) -> Result<Vec<Model>, ProviderError> {
    let unreadable = |reason: &str| {
        ProviderError::protocol(format!(
            "The model catalog of {provider} cannot be read: {reason}"
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
        _ => return Err(unreadable("it is no list of models")),
    };
    let models = records.into_iter().filter_map(|mut record| {
        record
            .as_object_mut()?
            .insert("provider".to_owned(), provider.into());
        serde_json::from_value(record)
            .inspect_err(|error| tracing::debug!(provider, %error, "passed over a model"))
            .ok()
    });
    Ok(models.collect())
}

/// What a management server answered.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    last_modified: Option<i64>,
    etag: Option<String>,
}

/// Fetches a document, trying again where the trouble may pass.
pub(super) async fn get(
    http: &HttpClient,
    url: &str,
    validator: Option<&str>,
    bearer: Option<&str>,
    context: &RefreshContext,
) -> Result<Answer, ProviderError> {
    let mut attempt = 1;
    loop {
        let answer = tokio::time::timeout(
            ATTEMPT_LIMIT,
            get_once(http, url, validator, bearer, context),
        )
        .await
        .unwrap_or_else(|_| {
            Err(ProviderError::network(format!(
                "{url} did not answer within {} s",
                ATTEMPT_LIMIT.as_secs()
            )))
        });
        let may_pass = match &answer {
            Ok(answer) => PASSING_TROUBLE.contains(&answer.status),
            Err(error) => error.class == ErrorClass::Network,
        };
        if !may_pass || attempt == ATTEMPTS {
            return answer;
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
) -> Result<Answer, ProviderError> {
    let target = reqwest::Url::parse(url)
        .map_err(|error| ProviderError::invalid(format!("{url} is not an address: {error}")))?;
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
    Ok(Answer {
        status,
        last_modified,
        etag,
        body: read_body(response, &route).await?,
    })
}
