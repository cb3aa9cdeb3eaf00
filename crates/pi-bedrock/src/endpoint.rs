//! Resolves region and URL of a request to Bedrock.

use std::borrow::Cow;

use aws_config::profile;
use pi_protocol::{Model, ProviderError};
use pi_providers::ModelRequest;
use reqwest::Url;

use super::credentials::AwsSettings;

/// The region if none is configured.
const DEFAULT_REGION: &str = "us-east-1";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BedrockEndpoint {
    /// The region to sign for.
    pub region: String,
    /// The URL of the operation.
    pub url: String,
}

impl BedrockEndpoint {
    /// Resolves the endpoint of a request.
    ///
    /// The region is that of the model's ARN, else the configured one, else the profile's, else
    /// that of the base URL. AWS's own base URLs follow the region; any other (a private
    /// endpoint, a gateway) is used as is.
    pub(super) async fn resolve(
        request: &ModelRequest,
        settings: &AwsSettings,
    ) -> Result<Self, ProviderError> {
        let model = &request.model;
        let base = model.base_url.trim_end_matches('/');
        let url_region = aws_region(base);
        let configured = arn_region(&model.id)
            .map(str::to_owned)
            .or_else(|| configured_region(request, settings));
        let region = match configured {
            Some(region) => region,
            None => profile_region(settings)
                .await?
                .or_else(|| url_region.clone())
                .unwrap_or_else(|| DEFAULT_REGION.to_owned()),
        };
        let base_url: Cow<'_, str> = match url_region {
            Some(current) if current != region => Cow::Owned(regional_url(&region)),
            None if base.is_empty() => Cow::Owned(regional_url(&region)),
            Some(_) | None => Cow::Borrowed(base),
        };
        let url = format!(
            "{base_url}/model/{}/converse-stream",
            path_segment(&model.id)
        );
        Ok(Self { region, url })
    }
}

/// Whether a request goes to AWS's government regions, whose schema lags behind.
pub(super) fn is_gov_cloud(model: &Model, region: &str) -> bool {
    let id = model.id.to_lowercase();
    region.to_lowercase().starts_with("us-gov-")
        || id.starts_with("us-gov.")
        || id.starts_with("arn:aws-us-gov:")
}

fn configured_region(request: &ModelRequest, settings: &AwsSettings) -> Option<String> {
    let requested = request.options.text_option("region").map(str::to_owned);
    requested
        .or_else(|| settings.var("AWS_REGION"))
        .or_else(|| settings.var("AWS_DEFAULT_REGION"))
}

async fn profile_region(settings: &AwsSettings) -> Result<Option<String>, ProviderError> {
    let Some(name) = settings.profile() else {
        return Ok(None);
    };
    #[expect(
        deprecated,
        reason = "the successor of `ProfileFiles` is not part of aws-config's interface"
    )]
    let files = profile::profile_file::ProfileFiles::default();
    let profiles = profile::load(
        &aws_types::os_shim_internal::Fs::real(),
        &settings.aws_env(),
        &files,
        Some(name.to_owned().into()),
    )
    .await
    .map_err(|error| {
        ProviderError::auth(format!("Cannot read the AWS configuration files: {error}"))
    })?;
    Ok(profiles.get("region").map(str::to_owned))
}

/// Returns the region in the ARN of an inference profile.
fn arn_region(id: &str) -> Option<&str> {
    let mut parts = id.split(':');
    let (scheme, partition, service) = (parts.next()?, parts.next()?, parts.next()?);
    let region = parts.next()?;
    let is_partition = partition == "aws" || partition.starts_with("aws-");
    // A region is followed by the account and the resource.
    let is_arn = scheme == "arn" && is_partition && service == "bedrock" && parts.next().is_some();
    (is_arn && is_region(region)).then_some(region)
}

/// Returns the region of a URL in AWS's own format.
fn aws_region(base_url: &str) -> Option<String> {
    let url = Url::parse(base_url).ok()?;
    let host = url.host_str()?.to_lowercase();
    let host = host
        .strip_suffix(".amazonaws.com")
        .or_else(|| host.strip_suffix(".amazonaws.com.cn"))?;
    let region = host
        .strip_prefix("bedrock-runtime.")
        .or_else(|| host.strip_prefix("bedrock-runtime-fips."))?;
    is_region(region).then(|| region.to_owned())
}

fn is_region(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn regional_url(region: &str) -> String {
    let suffix = if region.starts_with("cn-") { ".cn" } else { "" };
    format!("https://bedrock-runtime.{region}.amazonaws.com{suffix}")
}

/// Encodes a model ID as one path segment; ARNs contain colons and slashes.
fn path_segment(id: &str) -> String {
    let mut segment = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            segment.push(char::from(byte));
        } else {
            segment.extend(format!("%{byte:02X}").chars());
        }
    }
    segment
}
