//! Adapts our HTTP client to the AWS SDK, so that loading credentials uses the same proxies, roots
//! and connections as all other requests.

use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient as AwsHttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use http::header::{HeaderValue, USER_AGENT};
use pi_env::Env;
use pi_http::{HttpClient, read_body, user_agent};
use pi_protocol::ProviderError;
use reqwest::Url;

/// Our HTTP client as an AWS SDK client.
#[derive(Debug, Clone)]
pub(super) struct AwsHttp {
    http: HttpClient,
    env: Env,
}

impl AwsHttp {
    /// `env` selects the proxy.
    pub(super) fn new(http: HttpClient, env: Env) -> Self {
        Self { http, env }
    }
}

impl AwsHttpClient for AwsHttp {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        _components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector {
            http: self.http.clone(),
            env: self.env.clone(),
            connect_timeout: settings.connect_timeout(),
            read_timeout: settings.read_timeout(),
        })
    }
}

#[derive(Debug, Clone)]
struct Connector {
    http: HttpClient,
    env: Env,
    connect_timeout: Option<Duration>,
    read_timeout: Option<Duration>,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let connector = self.clone();
        HttpConnectorFuture::new(async move { connector.send(request).await })
    }
}

impl Connector {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        // The shared client has no connect timeout, and metadata services are queried on machines
        // that have none, so the total of both timeouts limits the request.
        let limit = match (self.connect_timeout, self.read_timeout) {
            (Some(connect), Some(read)) => Some(connect + read),
            (connect, read) => connect.or(read),
        };
        let exchange = self.exchange(request);
        match limit {
            None => exchange.await,
            Some(limit) => tokio::time::timeout(limit, exchange)
                .await
                .unwrap_or_else(|elapsed| Err(ConnectorError::timeout(elapsed.into()))),
        }
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let request = request
            .try_into_http1x()
            .map_err(|error| ConnectorError::user(error.into()))?;
        let (mut head, body) = request.into_parts();
        // Signatures exclude this header, and all our requests use the same user agent.
        let name = HeaderValue::try_from(user_agent())
            .map_err(|error| ConnectorError::user(error.into()))?;
        head.headers.insert(USER_AGENT, name);
        let body = body
            .bytes()
            .map(<[u8]>::to_vec)
            .ok_or_else(|| ConnectorError::user("the request body is a stream".into()))?;
        let target = Url::parse(&head.uri.to_string())
            .map_err(|error| ConnectorError::user(error.into()))?;
        let (client, route) = self
            .http
            .client_and_route(&target, &self.env)
            .map_err(unavailable)?;
        let response = client
            .request(head.method, target)
            .headers(head.headers)
            .body(body)
            .send()
            .await
            .map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = read_body(response, &route)
            .await
            .map_err(|error| ConnectorError::io(error.into()))?;
        let mut http_response = http::Response::new(SdkBody::from(body));
        *http_response.status_mut() = status;
        *http_response.headers_mut() = headers;
        HttpResponse::try_from(http_response)
            .map_err(|error| ConnectorError::other(error.into(), None))
    }
}

fn unavailable(error: ProviderError) -> ConnectorError {
    ConnectorError::other(error.into(), None)
}

fn failed(error: reqwest::Error) -> ConnectorError {
    // URLs may hold secrets.
    let error = error.without_url();
    if error.is_timeout() {
        ConnectorError::timeout(error.into())
    } else {
        ConnectorError::io(error.into())
    }
}
