//! Signs requests with AWS Signature Version 4.

use std::time::{Duration, UNIX_EPOCH};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign as calculate};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use pi_protocol::ProviderError;
use pi_providers::wire::OutgoingRequest;

/// The service name in signatures.
const SERVICE: &str = "bedrock";

/// Adds the headers of a signature for the given time.
pub(super) fn sign(
    outgoing: &mut OutgoingRequest,
    credentials: Credentials,
    region: &str,
    now_ms: i64,
) -> Result<(), ProviderError> {
    let failed = |error: &dyn std::fmt::Display| {
        ProviderError::auth(format!("Cannot sign the request: {error}"))
    };
    let identity: Identity = credentials.into();
    let now = Duration::from_millis(u64::try_from(now_ms).unwrap_or(0));
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(SERVICE)
        .time(UNIX_EPOCH + now)
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| failed(&error))?
        .into();
    let headers = outgoing
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let signable = SignableRequest::new(
        "POST",
        outgoing.url.as_str(),
        headers,
        SignableBody::Bytes(&outgoing.body),
    )
    .map_err(|error| failed(&error))?;
    let (instructions, _signature) = calculate(signable, &params)
        .map_err(|error| failed(&error))?
        .into_parts();
    let (signed, _query) = instructions.into_parts();
    for header in signed {
        let name = HeaderName::try_from(header.name()).map_err(|error| failed(&error))?;
        let mut value = HeaderValue::try_from(header.value()).map_err(|error| failed(&error))?;
        value.set_sensitive(header.sensitive() || name == AUTHORIZATION);
        outgoing.headers.insert(name, value);
    }
    Ok(())
}
