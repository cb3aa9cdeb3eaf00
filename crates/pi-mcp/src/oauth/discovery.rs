//! Finds the authorization server of an MCP server (RFC 9728, RFC 8414).

use pi_protocol::json::JsonObject;
use serde_json::{Value, json};
use url::Url;

use super::endpoint::{OAuthHttp, web_url};
use super::{OAuthFailure, OAuthState};

/// What is known about the authorization server of an MCP server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Discovery {
    /// The issuer.
    pub(super) server: String,
    /// Its metadata; without it, default addresses are used.
    pub(super) metadata: Option<JsonObject>,
    /// Metadata of the MCP server.
    pub(super) resource: Option<JsonObject>,
}

impl Discovery {
    /// Returns what was stored.
    pub(super) fn stored(state: &JsonObject) -> Option<Self> {
        let stored = state.get("discovery")?;
        let object = |key: &str| stored.get(key).and_then(Value::as_object).cloned();
        Some(Self {
            server: stored.get("authorizationServerUrl")?.as_str()?.to_owned(),
            metadata: object("authorizationServerMetadata"),
            resource: object("resourceMetadata"),
        })
    }

    pub(super) fn to_json(&self, resource_metadata: Option<&str>) -> Value {
        let mut stored = json!({"authorizationServerUrl": self.server});
        if let Value::Object(stored) = &mut stored {
            let values = [
                (
                    "authorizationServerMetadata",
                    self.metadata.clone().map(Value::Object),
                ),
                ("resourceMetadata", self.resource.clone().map(Value::Object)),
                ("resourceMetadataUrl", resource_metadata.map(Value::from)),
            ];
            for (key, value) in values {
                if let Some(value) = value {
                    stored.insert(key.to_owned(), value);
                }
            }
        }
        stored
    }

    /// Returns an endpoint from the metadata, or the default one.
    pub(super) fn endpoint(&self, key: &str, default: &str) -> Result<Url, OAuthFailure> {
        let known = self.metadata.as_ref().map(|metadata| text(metadata, key));
        let address = match known {
            Some(Some(address)) => return web_url(address, key),
            Some(None) => {
                return Err(OAuthFailure::Other(format!(
                    "the authorization server has no {key}"
                )));
            }
            None => web_url(&self.server, "authorization server")?,
        };
        address
            .join(default)
            .map_err(|error| OAuthFailure::Other(error.to_string()))
    }

    /// Returns a list of the metadata.
    pub(super) fn list(&self, key: &str) -> Option<Vec<&str>> {
        let list = self.metadata.as_ref()?.get(key)?.as_array()?;
        Some(list.iter().filter_map(Value::as_str).collect())
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        let value = self
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.get(key));
        value.and_then(Value::as_bool) == Some(true)
    }

    pub(super) fn issuer(&self) -> Option<&str> {
        text(self.metadata.as_ref()?, "issuer")
    }

    /// Returns the scopes that the MCP server needs.
    pub(super) fn scopes(&self) -> Option<String> {
        let scopes = self
            .resource
            .as_ref()?
            .get("scopes_supported")?
            .as_array()?;
        let scopes: Vec<&str> = scopes.iter().filter_map(Value::as_str).collect();
        (!scopes.is_empty()).then(|| scopes.join(" "))
    }

    /// Returns the resource that tokens are for; it must be the MCP server or contain it.
    pub(super) fn resource(&self, server: &Url) -> Result<Option<String>, OAuthFailure> {
        let Some(resource) = &self.resource else {
            return Ok(None);
        };
        let resource = text(resource, "resource").unwrap_or_default();
        let url = web_url(resource, "resource of the metadata")?;
        let with_slash = |url: &Url| format!("{}/", url.path().trim_end_matches('/'));
        if url.origin() != server.origin() || !with_slash(server).starts_with(&with_slash(&url)) {
            return Err(OAuthFailure::Other(format!(
                "the metadata is for {resource}, not for {server}"
            )));
        }
        Ok(Some(resource.to_owned()))
    }
}

impl OAuthState {
    /// Finds the authorization server.
    pub(super) async fn discover(
        &self,
        resource_metadata: Option<&str>,
    ) -> Result<Discovery, OAuthFailure> {
        let resource = self.resource_metadata(resource_metadata).await?;
        if let Some(address) = &self.spec.auth_server_metadata_url {
            let url = web_url(address, "authServerMetadataUrl")?;
            let metadata = read_metadata(&self.http, &url)
                .await?
                .ok_or_else(|| OAuthFailure::Other(format!("there is no metadata at {address}")))?;
            let server = text(&metadata, "issuer").unwrap_or_default().to_owned();
            return Ok(Discovery {
                server,
                metadata: Some(metadata),
                resource,
            });
        }
        let servers = resource
            .as_ref()
            .and_then(|it| it.get("authorization_servers"));
        let first = servers
            .and_then(|servers| servers.get(0))
            .and_then(Value::as_str);
        let server = match first {
            Some(server) => server.to_owned(),
            None => {
                let mut root = self.server.clone();
                root.set_path("/");
                root.set_query(None);
                root.set_fragment(None);
                root.into()
            }
        };
        let metadata = self.server_metadata(&server, first.is_none()).await?;
        Ok(Discovery {
            server,
            metadata,
            resource,
        })
    }

    /// Reads the metadata of the MCP server; `None` if it has none.
    async fn resource_metadata(
        &self,
        address: Option<&str>,
    ) -> Result<Option<JsonObject>, OAuthFailure> {
        const PATH: &str = "/.well-known/oauth-protected-resource";
        let path = self.server.path().trim_end_matches('/');
        let mut urls = match address {
            Some(address) => vec![web_url(address, "address of the metadata")?],
            None => vec![at(&self.server, &format!("{PATH}{path}"))],
        };
        if address.is_none() && !path.is_empty() {
            urls.push(at(&self.server, PATH));
        }
        for url in urls {
            let response = self.http.get(&url).await?;
            if response.is_success() {
                let metadata = response.json.and_then(into_object);
                return Ok(metadata.filter(|metadata| {
                    text(metadata, "resource").is_some_and(|it| web_url(it, "resource").is_ok())
                }));
            }
            if !response.is_missing() {
                break;
            }
        }
        Ok(None)
    }

    /// Reads the metadata of an authorization server; `None` if it has none. If the MCP server does not name one, another
    /// issuer of the same origin is accepted: until 2025-03-26 there was no other way to state it.
    pub(super) async fn server_metadata(
        &self,
        server: &str,
        is_guessed: bool,
    ) -> Result<Option<JsonObject>, OAuthFailure> {
        let issuer = web_url(server, "authorization server")?;
        let path = issuer.path().trim_end_matches('/').to_owned();
        let mut urls = vec![
            at(
                &issuer,
                &format!("/.well-known/oauth-authorization-server{path}"),
            ),
            at(&issuer, &format!("/.well-known/openid-configuration{path}")),
        ];
        if !path.is_empty() {
            urls.push(at(
                &issuer,
                &format!("{path}/.well-known/openid-configuration"),
            ));
        }
        for url in urls {
            let Some(metadata) = read_metadata(&self.http, &url).await? else {
                continue;
            };
            let found = text(&metadata, "issuer").unwrap_or_default();
            let is_neighbor =
                || Url::parse(found).is_ok_and(|found| found.origin() == issuer.origin());
            let is_named = found.trim_end_matches('/') == server.trim_end_matches('/');
            let is_accepted = is_named || (is_guessed && is_neighbor());
            if !is_accepted {
                return Err(OAuthFailure::Other(format!(
                    "the metadata of {server} names another issuer: {found}"
                )));
            }
            return Ok(Some(metadata));
        }
        Ok(None)
    }
}

/// Reads the metadata of an authorization server; `None` if it is not there.
async fn read_metadata(http: &OAuthHttp, url: &Url) -> Result<Option<JsonObject>, OAuthFailure> {
    let response = http.get(url).await?;
    if !response.is_success() {
        if response.is_missing() {
            return Ok(None);
        }
        return Err(OAuthFailure::Other(format!(
            "reading {url} failed with status {}",
            response.status
        )));
    }
    let metadata = response.json.and_then(into_object);
    let metadata =
        metadata.ok_or_else(|| OAuthFailure::Other(format!("{url} is not valid metadata")))?;
    for key in ["issuer", "authorization_endpoint", "token_endpoint"] {
        web_url(text(&metadata, key).unwrap_or_default(), key)?;
    }
    Ok(Some(metadata))
}

fn into_object(value: Value) -> Option<JsonObject> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn text<'object>(object: &'object JsonObject, key: &str) -> Option<&'object str> {
    let value = object.get(key)?.as_str()?;
    (!value.is_empty()).then_some(value)
}

/// Returns another address on the same server.
fn at(server: &Url, path: &str) -> Url {
    let mut url = server.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}
